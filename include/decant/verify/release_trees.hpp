// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "decant/model/index.hpp"
#include "decant/model/manifest.hpp"
#include "decant/model/selection.hpp"
#include "decant/report/report.hpp"
#include "decant/verify/verify.hpp"

namespace decant::verify {

// An index with where it comes from.
struct KnownIndex {
  model::PartIndex index;
  Origin origin = Origin::learned_index;
};

struct ReleaseView {
  const model::ReleaseManifest* manifest = nullptr;
  const model::Selection* selection = nullptr;
  // The index of an archive part; nullopt: nothing says what it holds.
  std::function<std::optional<KnownIndex>(const model::PartSpec&)> index_of;
  // False: a part that the restore has not published yet, so that nothing is expected of it. Empty: all are.
  std::function<bool(const model::PartSpec&)> is_published;
  std::map<std::string, std::string> root_paths;  // by root name; a root without a path is a finding
  std::map<std::string, std::string> tree_paths;  // --tree NAME=DIR
};

struct ReleaseTrees {
  std::vector<Tree> trees;                       // roots in name order, then declared trees
  std::vector<report::Finding> findings;         // trees not found, parts that nothing can verify
  std::vector<std::string> parts_without_index;  // or not published
};

// What the release expects, root by root and tree by tree. Throws Error{usage} when tree_paths names a tree
// that the release does not declare.
ReleaseTrees trees_of(const ReleaseView& view);

}  // namespace decant::verify
