// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "decant/archive/archive.hpp"
#include "decant/base/budget.hpp"
#include "decant/base/stop.hpp"
#include "decant/base/stream.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/model/index.hpp"
#include "decant/model/manifest.hpp"
#include "decant/progress/reporter.hpp"

// A part's block stream into a private staging tree, with its index learned on the way. Files are written and
// hashed by a few lanes; where the destination already holds a regular file of the entry's size, the bytes
// are compared with it instead of written: equal to the end, it is adopted; else the staged file is made
// after all (the equal prefix is copied and the whole file hashed again). Names are created exclusively: a
// name that exists already in the staging tree, byte-equal or folded by the file system, refuses the part
// (rule S4). Links come last, then directory times.
namespace decant::unpack {

enum class Landed : std::uint8_t {
  skipped,  // not wanted
  staged,
  adopted,
};
struct EntryState {
  Landed landed = Landed::skipped;
  fs::Stamp stamp;  // of the staged or the adopted file, directory or link
};

struct Target {
  const fs::DirHandle* stage = nullptr;     // empty at the start; paths below it are relative to the root
  const fs::DirHandle* existing = nullptr;  // the root as it is now; null when it is not there yet
};

struct UnpackOptions {
  int lanes = 2;  // writing and hashing threads
  // Whether an entry (path below the root) is wanted; empty: all are. Unwanted ones are still hashed into the
  // index.
  std::function<bool(const fs::RelPath&)> wants;
};

struct UnpackResult {
  model::PartIndex index;          // complete; entries in archive order
  std::vector<EntryState> states;  // parallel to index.entries
  archive::ArchiveSummary summary;
  std::uint64_t bytes_written = 0;
};

// Unpacks an archive part. The caller proves the compressed stream's own digest and must discard everything
// when it does not match. Throws Error{integrity} for a refused archive, Error{disk}, Interrupted. part.under
// is applied. index.part_digest and part_size are left to the caller.
UnpackResult unpack_archive(BlockSource& compressed, const model::PartSpec& part, const Target& target,
                            const UnpackOptions& options, ByteBudget& budget,
                            const std::shared_ptr<progress::PartCounters>& counters, const Stop& stop);

// Finishes a loose or placed file that has landed as `from_name` in `from` (same file system): mode 0644,
// masked; its time stays; moved to `installed` below the staging tree (parents made), replacing nothing.
// Returns its stamp.
fs::Stamp stage_file(const fs::DirHandle& from, const fs::RelPath& from_name, const fs::DirHandle& stage,
                     const fs::RelPath& installed);

}  // namespace decant::unpack
