// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "decant/base/bytes.hpp"

namespace decant::archive {

// A zstd frame header never needs more (RFC 8878 §3.1.1.1, magic included).
inline constexpr std::size_t k_max_frame_header = 18;

enum class FrameKind { data, skippable };

struct FrameHeader {
  FrameKind kind = FrameKind::data;
  std::uint64_t window = 0;          // data: bytes the decoder must keep
  std::uint64_t skippable_size = 0;  // skippable: bytes after the eight of its header
  bool has_dictionary = false;
};

// How many bytes from a frame's start are needed to read its header, as far as `head` tells: parse when
// head.size() reaches it. Always between 5 and k_max_frame_header.
std::size_t frame_header_size(Bytes head);

// nullopt: no zstd frame begins here. `head` has frame_header_size() bytes.
std::optional<FrameHeader> parse_frame_header(Bytes head);

// What a file that is not zstd looks like, in words: "a gzip file", "a plain tar archive", "no known format".
std::string describe_foreign(Bytes start);

}  // namespace decant::archive
