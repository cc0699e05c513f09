// SPDX-License-Identifier: Apache-2.0
#include "decant/report/report.hpp"

#include <csignal>
#include <functional>

#include "support/catch.hpp"

using namespace decant;
using namespace decant::report;

namespace {

PartResult part(PartOutcome outcome) {
  return {.name = "p", .outcome = outcome};
}
PartResult failed_by(ErrorKind kind) {
  return {.name = "p", .outcome = PartOutcome::failed, .problem = Problem{.kind = kind, .thing = "t"}};
}
Problem problem(ErrorKind kind) {
  return {.kind = kind, .thing = "t"};
}

Result with_parts(std::string command, std::vector<PartResult> parts) {
  Result result;
  result.command = std::move(command);
  result.parts = std::move(parts);
  return result;
}

}  // namespace

TEST_CASE("the exit code comes from the state of every part") {
  struct Row {
    const char* name;
    const char* command;
    std::vector<PartResult> parts;
    int code;
  };
  using enum PartOutcome;
  const Row rows[] = {
      {"published", "restore", {part(published)}, 0},
      {"unchanged and skipped", "restore", {part(unchanged), part(skipped)}, 0},
      {"one pending", "restore", {part(published), part(pending)}, 3},
      {"one staged only", "restore", {part(published), part(staged)}, 3},
      {"one fetched only", "restore", {part(fetched), part(published)}, 3},
      {"no outcome set", "restore", {PartResult{}}, 3},
      {"no command set", "", {part(pending)}, 3},
      {"fetch: fetched", "fetch", {part(fetched), part(published)}, 0},
      {"fetch: pending", "fetch", {part(fetched), part(pending)}, 3},
      {"plan: pending", "plan", {part(pending), part(fetched), part(staged), part(unchanged)}, 0},
      {"plan: failed", "plan", {part(pending), failed_by(ErrorKind::access)}, 5},
      {"plan: conflict", "plan", {part(conflict)}, 7},
      {"conflict", "restore", {part(conflict), part(published)}, 7},
      {"failed by network", "restore", {failed_by(ErrorKind::network), part(published)}, 4},
      {"failed by access", "restore", {failed_by(ErrorKind::access)}, 5},
      {"failed by disk", "restore", {failed_by(ErrorKind::disk)}, 6},
      {"failed by integrity", "restore", {failed_by(ErrorKind::integrity)}, 8},
      {"failed without a reason is a bug", "restore", {part(PartOutcome::failed)}, 70},
      {"integrity beats conflict", "restore", {part(conflict), failed_by(ErrorKind::integrity)}, 8},
      {"conflict beats disk", "restore", {part(conflict), failed_by(ErrorKind::disk)}, 7},
      {"disk beats access", "restore", {failed_by(ErrorKind::access), failed_by(ErrorKind::disk)}, 6},
      {"access beats network", "restore", {failed_by(ErrorKind::network), failed_by(ErrorKind::access)}, 5},
      {"network beats pending", "restore", {part(pending), failed_by(ErrorKind::network)}, 4},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(exit_code(with_parts(row.command, row.parts)) == row.code);
  }
}

TEST_CASE("a published part with a problem is no success") {
  PartResult odd = part(PartOutcome::published);
  odd.problem = problem(ErrorKind::disk);
  CHECK(exit_code(with_parts("restore", {odd})) == 6);
}

TEST_CASE("the exit code is the worst of everything that was found") {
  const std::vector<std::pair<int, std::function<void(Result&)>>> worst_first = {
      {70, [](Result& result) { result.problems.push_back(problem(ErrorKind::bug)); }},
      {130, [](Result& result) { result.stopped_by = SIGINT; }},
      {11, [](Result& result) { result.problems.push_back(problem(ErrorKind::signature)); }},
      {10, [](Result& result) { result.problems.push_back(problem(ErrorKind::state)); }},
      {8, [](Result& result) { result.parts.push_back(failed_by(ErrorKind::integrity)); }},
      {7, [](Result& result) { result.conflicts.push_back({}); }},
      {6, [](Result& result) { result.problems.push_back(problem(ErrorKind::disk)); }},
      {5, [](Result& result) { result.parts.push_back(failed_by(ErrorKind::access)); }},
      {4, [](Result& result) { result.problems.push_back(problem(ErrorKind::network)); }},
      {9, [](Result& result) { result.problems.push_back(problem(ErrorKind::busy)); }},
      {1, [](Result& result) { result.findings.push_back({}); }},
      {3, [](Result& result) { result.parts.push_back(part(PartOutcome::pending)); }},
  };
  for (std::size_t i = 0; i < worst_first.size(); ++i) {
    Result result;
    for (std::size_t j = worst_first.size(); j > i; --j) worst_first[j - 1].second(result);
    CHECK(exit_code(result) == worst_first[i].first);
    Result alone;
    worst_first[i].second(alone);
    CHECK(exit_code(alone) == worst_first[i].first);
  }
  CHECK(exit_code(Result{}) == 0);
}

TEST_CASE("signals have the shell's codes") {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    Result result;
    result.stopped_by = signal;
    CHECK(exit_code(result) == 128 + signal);
  }
}

TEST_CASE("what another try can mend is retryable") {
  for (const int code : {3, 4, 6, 9, 129, 130, 143}) CHECK(is_retryable(code));
  for (const int code : {0, 1, 2, 5, 7, 8, 10, 11, 70}) CHECK_FALSE(is_retryable(code));
}
