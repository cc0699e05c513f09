// SPDX-License-Identifier: Apache-2.0
#include "range_record.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "decant/hash/hasher.hpp"

namespace decant::cache {
namespace {

constexpr std::string_view k_magic = "DCNTRNGS";
constexpr std::uint32_t k_version = 1;
constexpr std::size_t k_at_version = 8;
constexpr std::size_t k_at_header_bytes = 12;
constexpr std::size_t k_at_chunk_bytes = 16;
constexpr std::size_t k_at_size = 24;
constexpr std::size_t k_at_algorithm = 32;
constexpr std::size_t k_at_digest = 40;
constexpr std::size_t k_at_salt = 72;
constexpr std::size_t k_at_crc = 92;

template <class T>
void put(std::span<std::byte> bytes, std::size_t at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[at + i] = static_cast<std::byte>(value >> (8 * i) & 0xFF);
}

template <class T>
T get(Bytes bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(bytes[at + i]) << (8 * i)));
  }
  return value;
}

std::uint8_t number_of(hash::Algorithm algorithm) {
  return algorithm == hash::Algorithm::sha256 ? 1 : 2;
}

std::uint32_t check_word(const RangeHeader& header, std::uint64_t chunk, std::uint32_t crc) {
  std::array<std::byte, 12> place{};
  put(place, 0, chunk);
  put(place, 8, crc);
  const std::uint32_t word = hash::crc32c(hash::crc32c(0, std::as_bytes(std::span{header.salt})), place);
  return word == 0 ? 1 : word;
}

}  // namespace

RangeHeaderBytes print_range_header(const RangeHeader& header) {
  RangeHeaderBytes bytes{};
  std::memcpy(bytes.data(), k_magic.data(), k_magic.size());
  put(bytes, k_at_version, k_version);
  put(bytes, k_at_header_bytes, static_cast<std::uint32_t>(k_range_header_bytes));
  put(bytes, k_at_chunk_bytes, header.chunk_bytes);
  put(bytes, k_at_size, header.size);
  put(bytes, k_at_algorithm, number_of(header.digest.algorithm()));
  std::memcpy(bytes.data() + k_at_digest, header.digest.data(), header.digest.size());
  std::memcpy(bytes.data() + k_at_salt, header.salt.data(), header.salt.size());
  put(bytes, k_at_crc, hash::crc32c(0, Bytes{bytes}.first(k_at_crc)));
  return bytes;
}

std::optional<RangeHeader> parse_range_header(Bytes bytes) {
  if (bytes.size() < k_range_header_bytes) return std::nullopt;
  bytes = bytes.first(k_range_header_bytes);
  if (as_text(bytes.first(k_magic.size())) != k_magic) return std::nullopt;
  const auto algorithm = get<std::uint8_t>(bytes, k_at_algorithm);
  if (algorithm != 1 && algorithm != 2) return std::nullopt;

  RangeHeader header;
  header.chunk_bytes = get<std::uint64_t>(bytes, k_at_chunk_bytes);
  if (header.chunk_bytes == 0) return std::nullopt;
  header.size = get<std::uint64_t>(bytes, k_at_size);
  std::array<std::uint8_t, 32> digest{};
  std::memcpy(digest.data(), bytes.data() + k_at_digest, digest.size());
  header.digest = hash::Digest::from_bytes(
      algorithm == 1 ? hash::Algorithm::sha256 : hash::Algorithm::git_sha1, digest.data());
  std::memcpy(header.salt.data(), bytes.data() + k_at_salt, header.salt.size());

  // Printing again checks all the rest: version, zeros, CRC.
  const RangeHeaderBytes again = print_range_header(header);
  if (!std::equal(again.begin(), again.end(), bytes.begin())) return std::nullopt;
  return header;
}

RangeSlotBytes print_range_slot(const RangeHeader& header, std::uint64_t chunk, std::uint32_t crc) {
  RangeSlotBytes bytes{};
  put(bytes, 0, crc);
  put(bytes, 4, check_word(header, chunk, crc));
  return bytes;
}

std::optional<std::uint32_t> parse_range_slot(const RangeHeader& header, std::uint64_t chunk, Bytes bytes) {
  if (bytes.size() < k_range_slot_bytes) return std::nullopt;
  const auto crc = get<std::uint32_t>(bytes, 0);
  if (get<std::uint32_t>(bytes, 4) != check_word(header, chunk, crc)) return std::nullopt;
  return crc;
}

RangeSlotBytes print_unproven_slot(const RangeHeader& header, std::uint64_t chunk) {
  const std::uint32_t word = ~check_word(header, chunk, 0);
  RangeSlotBytes bytes{};
  put(bytes, 4, word == 0 ? 1 : word);
  return bytes;
}

bool is_unproven_slot(const RangeHeader& header, std::uint64_t chunk, Bytes bytes) {
  const RangeSlotBytes wanted = print_unproven_slot(header, chunk);
  return bytes.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), bytes.begin());
}

}  // namespace decant::cache
