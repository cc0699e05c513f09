// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_set>

#include "decant/unpack/unpack.hpp"
#include "work_queue.hpp"
#include "workshop.hpp"

namespace decant::restore {

// A root that is open, with its staging directory.
struct OpenRoot {
  fs::DirHandle dir;
  fs::DirHandle staging;
  std::string staging_name;  // relative to the root
};

// Stages one part: afterwards its index, its record of stage "staged" and its files in staging are on disk
// and synced. Throws Error with the part's name in it, Interrupted, or ClaimedByOther when the archive is
// left to somebody else, who brings it. `result` gets counts as they come.
void stage_archive(Workshop& shop, state::Bundle& bundle, const OpenRoot& root, PartWork& part,
                   const std::shared_ptr<progress::PartCounters>& counters, Others others,
                   report::PartResult& result);
void stage_files(Workshop& shop, state::Bundle& bundle, const OpenRoot& root, PartWork& part,
                 const std::shared_ptr<progress::PartCounters>& counters, report::PartResult& result);

// The end both share: marks merged with what an earlier run left, index and record written after one sync.
void record_staged(Workshop& shop, state::Bundle& bundle, const OpenRoot& root, PartWork& part,
                   model::PartIndex index, const std::vector<unpack::EntryState>& states);

// Throws Error{busy} when another host took the bundle over while this process stood still: asked before
// anything is removed, recorded or published.
void refuse_lost_ownership(const state::Bundle& bundle);

// Staged entries that this run does not select leave the staged tree, since a publish moves all of it.
void drop_unwanted(const Prepared& prepared, PartWork& part, const fs::DirHandle& tree);

// Removes every file below `below` whose path is not wanted, and directories that are empty then.
void keep_only(const fs::DirHandle& tree, const fs::RelPath& below,
               const std::unordered_set<std::string>& wanted);

}  // namespace decant::restore
