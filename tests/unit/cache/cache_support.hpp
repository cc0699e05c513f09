// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "decant/base/stop.hpp"
#include "decant/cache/partial.hpp"
#include "decant/fs/owner.hpp"
#include "decant/hash/hasher.hpp"
#include "support/temp_dir.hpp"

namespace decant::test {

inline fs::DirHandle open_dir(const std::string& path) {
  return fs::DirHandle::open(path, fs::Missing::is_error);
}
inline fs::RelPath rel(std::string_view text) {
  return fs::RelPath::require(text, "test");
}

inline cache::Partial claim(const std::string& directory, const std::string& prefix,
                            const std::string& content) {
  return cache::Partial::claim_or_create(open_dir(directory), prefix, content.size(), hash::sha256(content),
                                         Stop{});
}

inline std::string_view chunk_of(const std::string& content, const cache::Partial& partial,
                                 std::uint64_t chunk) {
  const ByteRange range = partial.chunk_range(chunk);
  return std::string_view{content}.substr(range.offset, range.length);
}

inline void land(cache::Partial& partial, const std::string& content, std::uint64_t chunk) {
  const Bytes bytes = as_bytes(chunk_of(content, partial, chunk));
  partial.write_at(partial.chunk_range(chunk).offset, bytes);
  partial.mark_landed(chunk, hash::crc32c(0, bytes));
}

inline void land_missing(cache::Partial& partial, const std::string& content) {
  for (std::uint64_t chunk = 0; chunk < partial.chunk_count(); ++chunk) {
    if (partial.chunk_state(chunk) == cache::ChunkState::missing) land(partial, content, chunk);
  }
}

// Makes the partial one of a process that has ended.
inline void kill_owner(const std::string& partial_path) {
  fs::Owner owner = fs::this_process();
  owner.boot_id = "an-earlier-boot";
  write_file(partial_path + "/owner", fs::to_text(owner));
}

// A partial of an ended process, holding the chunks given; returns its path.
inline std::string leave_behind(const std::string& directory, const std::string& prefix,
                                const std::string& content, std::initializer_list<std::uint64_t> chunks) {
  std::string path;
  {
    cache::Partial partial = claim(directory, prefix, content);
    for (const std::uint64_t chunk : chunks) land(partial, content, chunk);
    path = partial.path();
  }
  kill_owner(path);
  return path;
}

}  // namespace decant::test
