// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstring>

#include "crc32c_ways.hpp"
#include "decant/hash/hasher.hpp"

#ifdef __x86_64__
#include <nmmintrin.h>
#endif

namespace decant::hash {
namespace {

constexpr std::uint32_t k_polynomial = 0x82F63B78;  // bit-reversed 0x1EDC6F41

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: the register after byte b and k zero bytes ("slicing by eight").
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? k_polynomial : 0);
    tables[0][byte] = state;
  }
  for (std::size_t k = 1; k < tables.size(); ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t state = tables[k - 1][byte];
      tables[k][byte] = (state >> 8) ^ tables[0][state & 0xFF];
    }
  }
  return tables;
}

constexpr Tables k_tables = make_tables();

std::uint64_t load_8(const std::byte* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

}  // namespace

std::uint32_t crc32c_by_tables(std::uint32_t state, Bytes bytes) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
      const std::uint64_t word = load_8(bytes.data()) ^ state;
      state = 0;
      for (std::size_t i = 0; i < 8; ++i) state ^= k_tables[7 - i][(word >> (8 * i)) & 0xFF];
    }
  }
  for (const std::byte byte : bytes) {
    state = (state >> 8) ^ k_tables[0][(state ^ std::to_integer<std::uint32_t>(byte)) & 0xFF];
  }
  return state;
}

#ifdef __x86_64__
bool has_crc32c_instruction() noexcept {
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
}

__attribute__((target("sse4.2"))) std::uint32_t crc32c_by_instruction(std::uint32_t state,
                                                                      Bytes bytes) noexcept {
  std::uint64_t wide = state;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) wide = _mm_crc32_u64(wide, load_8(bytes.data()));
  state = static_cast<std::uint32_t>(wide);
  for (const std::byte byte : bytes) state = _mm_crc32_u8(state, std::to_integer<std::uint8_t>(byte));
  return state;
}
#else
bool has_crc32c_instruction() noexcept {
  return false;
}
std::uint32_t crc32c_by_instruction(std::uint32_t state, Bytes bytes) noexcept {
  return crc32c_by_tables(state, bytes);
}
#endif

std::uint32_t crc32c(std::uint32_t crc, Bytes bytes) noexcept {
  return ~(has_crc32c_instruction() ? crc32c_by_instruction(~crc, bytes) : crc32c_by_tables(~crc, bytes));
}

}  // namespace decant::hash
