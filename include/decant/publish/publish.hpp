// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "decant/base/stop.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/model/index.hpp"
#include "decant/progress/reporter.hpp"
#include "decant/state/bundle.hpp"

// Staged trees into their roots: first find every conflict without changing anything, then rename, top-down
// and without replacing. Killed half-way it is run again: what carries its staged stamp is ours, the rest is
// compared.
namespace decant::publish {

struct StagedPart {
  std::string name;
  std::string root_name;
  const fs::DirHandle* root = nullptr;   // may be null only for find_conflicts: the root is not there yet
  const fs::DirHandle* stage = nullptr;  // the part's staged tree (paths relative to the root)
  fs::RelPath under;                     // prefix of every index path
  const model::PartIndex* index = nullptr;
  state::Marks* marks = nullptr;  // parallel to index->entries; publish updates stamps of what it adopts
};

struct Conflict {
  std::string part;
  std::string root;
  fs::RelPath path;        // below the root
  std::string expected;    // "file of 123 bytes, SHA-256 1f2e…"
  std::string found;       // "file of 99 bytes", "symbolic link to …", "directory"
  std::string other_part;  // the part that brings something else; empty: it lies there
};

// Every path where a root holds something else than the release: other type, size, content, link target or
// owner's x bit; a symbolic link or file where the release has a directory; a parent likewise. Also two parts
// that bring different content for one path (found: "part NAME brings other content"). Reads only; content is
// compared by SHA-256 where sizes agree. Everything is listed, in part and index order.
std::vector<Conflict> find_conflicts(const std::vector<StagedPart>& parts, const Stop& stop);

struct PublishCounts {
  std::uint64_t renamed = 0;  // rename calls that made something visible
  std::uint64_t adopted = 0;
};

// Publishes all parts in order. Every mark of place `ours` whose staged entry is there is moved; a name that
// was taken meanwhile by equal content is adopted, by other content throws Error{conflict} (nothing of it is
// touched). Symbolic links after everything else, then the times of directories that decant made. Syncs the
// roots' file systems once.
PublishCounts publish(std::vector<StagedPart>& parts, progress::Reporter& reporter, const Stop& stop);

enum class Presence { all, some, none };
struct PresenceReport {
  Presence presence = Presence::none;
  std::uint64_t expected = 0;
  std::vector<std::size_t> missing;  // indexes into index->entries
  std::vector<std::size_t> changed;  // type, size or stamp differ from the mark
};
// One lstat an entry: are the entries with a mark there, as their stamps say? Directories count as there when
// they are real directories. Implied parents are not looked at. `base` is the root (published) or the staged
// tree (staged).
PresenceReport look(const fs::DirHandle& base, const fs::RelPath& under, const model::PartIndex& index,
                    const state::Marks& marks);

}  // namespace decant::publish
