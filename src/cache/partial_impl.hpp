// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "decant/cache/partial.hpp"
#include "range_record.hpp"

namespace decant::cache {

// A name that this process has open; for as long as it lives, the process does not take its own bytes for a
// leftover.
class OpenName {
 public:
  explicit OpenName(std::string name);
  ~OpenName();
  OpenName(const OpenName&) = delete;
  OpenName& operator=(const OpenName&) = delete;
  const std::string& str() const { return name_; }
  static bool is_open(const std::string& name);

 private:
  std::string name_;
};

struct Chunk {
  ChunkState state = ChunkState::missing;
  std::uint32_t crc = 0;
  bool is_unproven = false;  // landed earlier, but the record is lost: nobody knows the CRC
};

// What a `bytes` directory holds.
struct Content {
  RangeHeader header;
  std::vector<Chunk> chunks;
  std::uint64_t landed_bytes = 0;
  Fd data;
  Fd ranges;
};

inline ByteRange range_of_chunk(std::uint64_t size, std::uint64_t chunk) {
  const std::uint64_t offset = chunk * k_chunk_bytes;
  return {offset, std::min(k_chunk_bytes, size - offset)};
}

// Names below a partial's directory.
const fs::RelPath& owner_name();
const fs::RelPath& bytes_name();
const fs::RelPath& data_name();
const fs::RelPath& ranges_name();

struct Partial::Impl {
  Impl(const fs::DirHandle& parent_dir, std::unique_ptr<OpenName> open_name)
      : name{std::move(open_name)}, parent{parent_dir.duplicate()} {}

  fs::RelPath dir() const { return fs::RelPath::require(name->str(), "partial"); }
  std::string path() const { return parent.path_of(dir()); }
  Chunk& chunk_at(std::uint64_t chunk);
  // With the mutex held.
  void set(std::uint64_t chunk, Chunk value);
  void write_slot(std::uint64_t chunk, std::uint32_t crc);
  void clear_slot(std::uint64_t chunk);

  std::unique_ptr<OpenName> name;  // first, so that it is given up last, when all is closed
  fs::DirHandle parent;
  Content content;
  mutable std::mutex mutex;  // guards content.chunks, content.landed_bytes and the slots on disk
};

}  // namespace decant::cache
