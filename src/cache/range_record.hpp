// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "decant/base/bytes.hpp"
#include "decant/hash/digest.hpp"

// The file `ranges` of a partial. All numbers little-endian.
//
//   offset  bytes
//        0      8  magic "DCNTRNGS"
//        8      4  version, 1
//       12      4  bytes of this header, 96
//       16      8  bytes of a chunk, 1,048,576
//       24      8  bytes of the object
//       32      1  algorithm of its digest: 1 sha256, 2 git-sha1
//       33      7  zero
//       40     32  the digest, zeros after a shorter one
//       72     16  salt, random
//       88      4  zero
//       92      4  CRC-32C of the 92 bytes before
//       96  8 * n  a slot for each chunk: CRC-32C of the chunk's bytes, and a check word:
//                  CRC-32C of salt, chunk number (8 bytes) and CRC (4 bytes), with 1 in place of 0.
//                  Or, of a chunk that is there but whose CRC was lost with an earlier record: four zeros,
//                  and the complement of the check word for CRC 0, with 1 in place of 0
//
// A chunk has landed when its slot's check word is right, so a slot that is zero, torn, moved, or of another
// record reads as missing.
namespace decant::cache {

inline constexpr std::uint64_t k_range_header_bytes = 96;
inline constexpr std::uint64_t k_range_slot_bytes = 8;

struct RangeHeader {
  std::uint64_t chunk_bytes = 0;
  std::uint64_t size = 0;
  hash::Digest digest;
  std::array<std::uint8_t, 16> salt{};
};

using RangeHeaderBytes = std::array<std::byte, k_range_header_bytes>;
using RangeSlotBytes = std::array<std::byte, k_range_slot_bytes>;

RangeHeaderBytes print_range_header(const RangeHeader& header);
// nullopt for anything that this version would not have written.
std::optional<RangeHeader> parse_range_header(Bytes bytes);

RangeSlotBytes print_range_slot(const RangeHeader& header, std::uint64_t chunk, std::uint32_t crc);
// The chunk's CRC; nullopt when it is missing.
std::optional<std::uint32_t> parse_range_slot(const RangeHeader& header, std::uint64_t chunk, Bytes bytes);

RangeSlotBytes print_unproven_slot(const RangeHeader& header, std::uint64_t chunk);
bool is_unproven_slot(const RangeHeader& header, std::uint64_t chunk, Bytes bytes);

constexpr std::uint64_t chunks_of(std::uint64_t size, std::uint64_t chunk_bytes) {
  return size / chunk_bytes + (size % chunk_bytes != 0 ? 1 : 0);
}
constexpr std::uint64_t range_slot_offset(std::uint64_t chunk) {
  return k_range_header_bytes + chunk * k_range_slot_bytes;
}

}  // namespace decant::cache
