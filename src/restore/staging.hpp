// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decant/unpack/unpack.hpp"
#include "object_input.hpp"

namespace decant::restore {

// A root that is open, with its staging directory.
struct OpenRoot {
  fs::DirHandle dir;
  fs::DirHandle staging;
  std::string staging_name;  // relative to the root
};

// Stages one part: afterwards its index, its record of stage "staged" and its files in staging are on disk
// and synced. Throws Error with the part's name in it, or Interrupted. `result` gets counts as they come.
void stage_archive(Workshop& shop, state::Bundle& bundle, const OpenRoot& root, PartWork& part,
                   const std::shared_ptr<progress::PartCounters>& counters, report::PartResult& result);
void stage_files(Workshop& shop, state::Bundle& bundle, const OpenRoot& root, PartWork& part,
                 const std::shared_ptr<progress::PartCounters>& counters, report::PartResult& result);

// The end both share: marks merged with what an earlier run left, index and record written after one sync.
void record_staged(Workshop& shop, state::Bundle& bundle, const OpenRoot& root, PartWork& part,
                   model::PartIndex index, const std::vector<unpack::EntryState>& states);

inline fs::RelPath part_dir(const PartWork& part) {
  return fs::RelPath::require(state::part_file_name(part.spec.name), "part name");
}
inline fs::RelPath tree_dir(const PartWork& part) {
  return part_dir(part) / fs::RelPath::require("tree", "tree");
}

}  // namespace decant::restore
