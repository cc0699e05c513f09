// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <tuple>

#include "decant/report/report.hpp"

namespace decant::report {

std::string_view to_string(FindingKind kind) noexcept {
  switch (kind) {
    case FindingKind::tree_missing:
      return "tree-missing";
    case FindingKind::missing:
      return "missing";
    case FindingKind::differs:
      return "differs";
    case FindingKind::truncated:
      return "truncated";
    case FindingKind::longer:
      return "longer";
    case FindingKind::wrong_type:
      return "wrong-type";
    case FindingKind::mode:
      return "mode";
    case FindingKind::link_target:
      return "link-target";
    case FindingKind::unreadable:
      return "unreadable";
    case FindingKind::unstable:
      return "unstable";
    case FindingKind::extra:
      return "extra";
    case FindingKind::unverifiable:
      return "unverifiable";
    case FindingKind::unknown_check:
      return "unknown-check";
  }
  return "unknown-check";
}

std::string_view to_string(PartOutcome outcome) noexcept {
  switch (outcome) {
    case PartOutcome::published:
      return "published";
    case PartOutcome::unchanged:
      return "unchanged";
    case PartOutcome::staged:
      return "staged";
    case PartOutcome::fetched:
      return "fetched";
    case PartOutcome::pending:
      return "pending";
    case PartOutcome::skipped:
      return "skipped";
    case PartOutcome::conflict:
      return "conflict";
    case PartOutcome::failed:
      return "failed";
  }
  return "failed";
}

void sort_findings(std::vector<Finding>& findings) {
  const auto key = [](const Finding& finding) { return std::tie(finding.kind, finding.tree, finding.path); };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return key(a) < key(b); });
}

}  // namespace decant::report
