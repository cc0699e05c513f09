// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "decant/base/stop.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/model/index.hpp"

namespace decant::publish {

// "file of 123 bytes, SHA-256 1f2e…, executable"; "symbolic link to x"; "directory". Safe for a terminal.
std::string describe(const model::IndexEntry& entry);
// The same of what lies at `name`, without reading a file's content.
std::string describe(const fs::DirHandle& dir, const fs::RelPath& name, const fs::EntryFacts& facts);

fs::FileType type_of(const model::IndexEntry& entry);

// What `name` in `dir` has else than the release, in words; nullopt when it is the same: a real directory, a
// link with that target, a file of that size, x bit and content (which is read only when all else agrees).
std::optional<std::string> difference(const fs::DirHandle& dir, const fs::RelPath& name,
                                      const fs::EntryFacts& facts, const model::IndexEntry& entry,
                                      const Stop& stop);

// Directories that everybody may write into, as /tmp: what lies directly in them may be somebody's trap.
bool is_open_to_all(const fs::DirHandle& dir);
// Why a name directly in such a directory cannot be built upon; nullopt when it is owned by root or the
// caller and nobody else can change it.
std::optional<std::string> distrust(const fs::EntryFacts& facts);

}  // namespace decant::publish
