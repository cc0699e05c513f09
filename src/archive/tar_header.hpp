// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "decant/base/bytes.hpp"

namespace decant::archive {

inline constexpr std::size_t k_tar_block = 512;

enum class TarDialect { v7, ustar, gnu };

// The fields of one 512-byte header that mean something to us; nothing is judged yet but their form.
struct TarHeader {
  TarDialect dialect = TarDialect::ustar;
  char type = '0';
  std::string name;  // with the ustar prefix in front
  std::string link;
  std::uint64_t size = 0;
  std::uint32_t mode = 0;
  std::int64_t mtime = 0;
};

bool is_zero_block(Bytes block);

// `block` has 512 bytes and is not all zero. Throws Refusal{S8} for a wrong checksum, an unknown magic, a
// field that is no number or text after a field's end, {S6} for an impossible size.
TarHeader parse_header(Bytes block);

// The name as far as it can be read, for messages about a header that cannot be parsed.
std::string name_for_message(Bytes block);

// Bytes that pad `size` to whole blocks.
constexpr std::uint64_t padding_of(std::uint64_t size) {
  return (k_tar_block - size % k_tar_block) % k_tar_block;
}

}  // namespace decant::archive
