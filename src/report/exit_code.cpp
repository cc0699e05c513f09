// SPDX-License-Identifier: Apache-2.0
#include "decant/report/report.hpp"

namespace decant::report {
namespace {

constexpr int k_signal_base = 128;

// What a part must have reached for the command to have done its job.
bool is_enough(std::string_view command, PartOutcome outcome) {
  switch (outcome) {
    case PartOutcome::published:
    case PartOutcome::unchanged:
    case PartOutcome::skipped:
      return true;
    case PartOutcome::fetched:
    case PartOutcome::staged:
      return command == "fetch" || command == "plan";
    case PartOutcome::pending:
      return command == "plan";
    case PartOutcome::conflict:
    case PartOutcome::failed:
      return false;
  }
  return false;
}

int code_of(std::string_view command, const PartResult& part) {
  int code = 0;
  if (part.problem) code = decant::exit_code(part.problem->kind);
  if (part.outcome == PartOutcome::conflict) {
    return worse_exit_code(code, decant::exit_code(ErrorKind::conflict));
  }
  // A failure that nobody explained is a fault of ours, not a success.
  if (part.outcome == PartOutcome::failed) return part.problem ? code : decant::exit_code(ErrorKind::bug);
  if (!is_enough(command, part.outcome))
    code = worse_exit_code(code, decant::exit_code(ErrorKind::incomplete));
  return code;
}

}  // namespace

int exit_code(const Result& result) {
  int code = 0;
  const auto meet = [&code](int other) { code = worse_exit_code(code, other); };
  if (result.stopped_by != 0) meet(k_signal_base + result.stopped_by);
  for (const Problem& problem : result.problems) meet(decant::exit_code(problem.kind));
  for (const PartResult& part : result.parts) meet(code_of(result.command, part));
  if (!result.conflicts.empty()) meet(decant::exit_code(ErrorKind::conflict));
  if (!result.findings.empty()) meet(decant::exit_code(ErrorKind::differences));
  return code;
}

bool is_retryable(int exit_code) noexcept {
  for (const ErrorKind kind : {ErrorKind::incomplete, ErrorKind::network, ErrorKind::disk, ErrorKind::busy}) {
    if (exit_code == decant::exit_code(kind)) return true;
  }
  return exit_code > k_signal_base;
}

}  // namespace decant::report
