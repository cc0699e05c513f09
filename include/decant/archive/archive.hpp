// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "decant/base/budget.hpp"
#include "decant/base/error.hpp"
#include "decant/base/stop.hpp"
#include "decant/base/stream.hpp"
#include "decant/fs/rel_path.hpp"

// A tar.zst part as a stream of entries. zstd is decoded here, frame by frame; libarchive reads the headers;
// a strict guard of our own reads the very same bytes, and both must agree on name, type, size, link target
// and order. What the rules S1 to S9 (docs/architecture.md) do not allow is refused, whole part, with the
// entry's number, escaped name and rule. Memory is bounded whatever the archive says. Nothing here touches
// the disk.
namespace decant::archive {

enum class EntryKind : std::uint8_t { file, dir, symlink, hardlink };

struct ArchiveEntry {
  std::uint64_t number = 0;  // from 1, in archive order
  fs::RelPath path;          // normalised: a leading "./" and trailing '/' dropped; root for the "./" entry
  EntryKind kind = EntryKind::file;
  std::uint64_t size = 0;
  bool owner_executable = false;
  std::int64_t mtime = 0;        // whole seconds, rounded down; before 1970 is fine
  std::string link_target;       // symlink: as stored
  fs::RelPath hardlink_target;   // hardlink: normalised
  std::uint64_t tar_offset = 0;  // of its first header (extended ones included) in the tar stream
};

struct Rules {
  fs::RelPath under;  // where the archive unpacks below its root: decides which links leave the root
  bool allow_external_links = false;
  bool allow_non_utf8 = false;
  bool allow_setid_files = false;  // the bits are dropped all the same
  int max_window_log = 27;
  std::optional<std::uint64_t> max_entries;  // as the manifest states them
  std::optional<std::uint64_t> max_bytes;
};

// Receives entries in order; data spans of a file come between entry() and entry_end(), in order, and sum up
// to entry.size. A span keeps its block alive. May throw: read_archive passes it on.
class EntrySink {
 public:
  virtual ~EntrySink() = default;
  virtual void entry(const ArchiveEntry& entry) = 0;
  virtual void data(BlockSpan span) = 0;
  virtual void entry_end() = 0;
};

struct ArchiveSummary {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;  // sum of file sizes
  std::uint64_t tar_bytes = 0;
  std::uint64_t cleared_bits = 0;    // entries whose setgid/sticky/setuid bits were dropped
  std::uint64_t ignored_xattrs = 0;  // PAX records of attributes, ACLs, flags
  std::uint64_t external_links = 0;
};

// Reads `compressed` to its end. Throws Error{integrity} "entry 17 'a/b': … (rule S5)" or "zstd frame 3: …";
// Interrupted; and what the sink or the source throws. `budget` pays for decoded blocks and the decoder's
// window.
ArchiveSummary read_archive(BlockSource& compressed, const Rules& rules, EntrySink& sink, ByteBudget& budget,
                            const Stop& stop);

// Throws Error{integrity} "entry 17 'a/b': WORDS (rule S5)"; the name is escaped and shortened here.
[[noreturn]] void refuse_entry(std::uint64_t number, std::string_view name, std::string_view rule,
                               std::string_view words);

}  // namespace decant::archive
