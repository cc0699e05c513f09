// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decant/base/bytes.hpp"
#include "decant/fs/rel_path.hpp"
#include "decant/hash/digest.hpp"

namespace decant::model {

inline constexpr std::string_view k_index_schema = "decant.index/1";

enum class EntryType : std::uint8_t { file, dir, symlink };

// One entry of a part: content facts only, the same on every machine.
struct IndexEntry {
  fs::RelPath path;  // below the part's root/under (for place parts: the file's name itself, `as`)
  EntryType type = EntryType::file;
  bool executable = false;  // owner's x bit; files only
  std::uint64_t size = 0;   // files only
  hash::Digest sha256;      // files only
  std::string target;       // symlink: link target, bytes as they are
  fs::RelPath same_as;      // hard link: path of the earlier file entry; root when it is none
  std::int64_t mtime = 0;   // whole seconds since 1970; 0 and ignored for symlinks
};

// One zstd frame of a part that freeze made; frames tile the part without gap.
struct IndexFrame {
  std::uint64_t offset = 0;      // in the part
  std::uint64_t size = 0;        // compressed
  hash::Digest sha256;           // of the compressed bytes
  std::uint64_t tar_offset = 0;  // where its content begins in the tar stream
};

// What a part holds, in archive order. A directory that only appears as a parent of other entries has no
// entry.
struct PartIndex {
  hash::Digest part_digest;  // of the part's own bytes
  std::uint64_t part_size = 0;
  std::vector<IndexFrame> frames;   // empty for parts that others packed
  std::vector<IndexEntry> entries;  // each path once
};

// JSON lines: a header {"schema", "part": {"size","sha256"|"git-sha1"}, "entries", "bytes"}, then one line
// per entry (docs/formats.md). Deterministic. Paths and targets that are not UTF-8 stand as "path_hex" /
// "target_hex".
std::string to_jsonl(const PartIndex& index);
// The same in pieces, for an index of millions of entries.
void to_jsonl(const PartIndex& index, ByteSink& sink);
// Throws Error{state} with the line number and the reason: counts that do not agree with the header,
// duplicate keys, bad paths, unknown types.
PartIndex parse_index(std::string_view jsonl, std::string_view origin);

}  // namespace decant::model
