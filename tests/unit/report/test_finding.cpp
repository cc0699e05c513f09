// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "decant/report/report.hpp"
#include "support/catch.hpp"

using namespace decant::report;

TEST_CASE("findings are sorted by kind, tree and path") {
  std::vector<Finding> findings = {
      {.kind = FindingKind::extra, .tree = "a", .path = "a"},
      {.kind = FindingKind::missing, .tree = "b", .path = "a"},
      {.kind = FindingKind::missing, .tree = "a", .path = "b"},
      {.kind = FindingKind::missing, .tree = "a", .path = "a"},
      {.kind = FindingKind::tree_missing, .tree = "z"},
  };
  sort_findings(findings);
  std::string order;
  for (const Finding& finding : findings) {
    order += std::string{to_string(finding.kind)} + ":" + finding.tree + finding.path + " ";
  }
  CHECK(order == "tree-missing:z missing:aa missing:ab missing:ba extra:aa ");
}

TEST_CASE("every finding kind and part outcome has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(FindingKind::unknown_check); ++i) {
    names.insert(to_string(static_cast<FindingKind>(i)));
  }
  CHECK(names.size() == static_cast<std::size_t>(FindingKind::unknown_check) + 1);
  CHECK(names.contains("wrong-type"));
  names.clear();
  for (int i = 0; i <= static_cast<int>(PartOutcome::failed); ++i)
    names.insert(to_string(static_cast<PartOutcome>(i)));
  CHECK(names.size() == static_cast<std::size_t>(PartOutcome::failed) + 1);
}

TEST_CASE("a tree digest's label says whether every byte was hashed") {
  CHECK(TreeDigest{.name = "t", .full = true, .hex = "ab"}.label() == "full:ab");
  CHECK(TreeDigest{.name = "t", .full = false, .hex = "ab"}.label() == "partial:ab");
}
