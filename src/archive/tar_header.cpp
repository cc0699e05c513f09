// SPDX-License-Identifier: Apache-2.0
#include "tar_header.hpp"

#include <algorithm>

#include "refusal.hpp"

namespace decant::archive {
namespace {

struct Field {
  std::size_t offset;
  std::size_t size;
  std::string_view title;
};
constexpr Field k_name{0, 100, "name"};
constexpr Field k_mode{100, 8, "mode"};
constexpr Field k_size{124, 12, "size"};
constexpr Field k_mtime{136, 12, "modification time"};
constexpr Field k_checksum{148, 8, "checksum"};
constexpr std::size_t k_type_offset = 156;
constexpr Field k_link{157, 100, "link name"};
constexpr Field k_magic{257, 8, "magic"};
constexpr Field k_prefix{345, 155, "name prefix"};
constexpr Field k_star_mark{508, 4, "star mark"};

constexpr std::string_view k_ustar_magic{
    "ustar\0"
    "00",
    8};
constexpr std::string_view k_gnu_magic{"ustar  \0", 8};
constexpr std::uint64_t k_largest_file = 1ULL << 60;

std::string_view raw(std::string_view block, const Field& field) {
  return block.substr(field.offset, field.size);
}

[[noreturn]] void malformed(const Field& field, std::string_view what) {
  throw Refusal{Rule::s8_form, "the header's " + std::string{field.title} + " " + std::string{what}};
}

std::string text(std::string_view block, const Field& field) {
  const auto bytes = raw(block, field);
  const auto end = bytes.find('\0');
  if (end == std::string_view::npos) return std::string{bytes};
  if (bytes.find_first_not_of('\0', end) != std::string_view::npos) malformed(field, "goes on after its end");
  return std::string{bytes.substr(0, end)};
}

// GNU base-256: the top bit is the mark, the rest a two's complement number, most significant byte first.
std::int64_t base256(std::string_view bytes, const Field& field) {
  const bool negative = (static_cast<unsigned char>(bytes[0]) & 0x40) != 0;
  const unsigned filler = negative ? 0xff : 0x00;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned byte = static_cast<unsigned char>(bytes[i]);
    if (i == 0) byte = negative ? byte | 0x80U : byte & 0x7fU;
    if (bytes.size() - i > 8) {
      if (byte != filler) malformed(field, "is too large");
    } else {
      value = value << 8 | byte;
    }
  }
  const auto number = static_cast<std::int64_t>(value);
  if ((number < 0) != negative) malformed(field, "is too large");
  return number;
}

// Octal digits after leading spaces, ended by the field or by spaces and NULs; an empty field is 0.
std::int64_t octal(std::string_view bytes, const Field& field) {
  std::size_t at = 0;
  while (at < bytes.size() && bytes[at] == ' ') ++at;
  std::int64_t value = 0;
  for (; at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '7'; ++at)
    value = value * 8 + (bytes[at] - '0');
  for (; at < bytes.size(); ++at) {
    if (bytes[at] != '\0' && bytes[at] != ' ') malformed(field, "is not a number");
  }
  return value;
}

std::int64_t number(std::string_view block, const Field& field) {
  const auto bytes = raw(block, field);
  if ((static_cast<unsigned char>(bytes[0]) & 0x80) != 0) return base256(bytes, field);
  return octal(bytes, field);
}

// Some old writers summed signed bytes; both sums are taken, as every reader does.
void check_checksum(std::string_view block) {
  std::int64_t plain = 0;
  std::int64_t with_sign = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const bool own = i >= k_checksum.offset && i < k_checksum.offset + k_checksum.size;
    const char c = own ? ' ' : block[i];
    plain += static_cast<unsigned char>(c);
    with_sign += static_cast<signed char>(c);
  }
  const auto stated = octal(raw(block, k_checksum), k_checksum);
  if (stated != plain && stated != with_sign) {
    throw Refusal{Rule::s8_form, "the header's checksum is wrong, so the archive is damaged"};
  }
}

TarDialect dialect_of(std::string_view block) {
  const auto magic = raw(block, k_magic);
  if (magic == k_ustar_magic) return TarDialect::ustar;
  if (magic == k_gnu_magic) return TarDialect::gnu;
  if (magic.find_first_not_of('\0') == std::string_view::npos) return TarDialect::v7;
  throw Refusal{Rule::s8_form, "the header is of no known tar format"};
}

}  // namespace

bool is_zero_block(Bytes block) {
  return std::all_of(block.begin(), block.end(), [](std::byte b) { return b == std::byte{0}; });
}

TarHeader parse_header(Bytes bytes) {
  const auto block = as_text(bytes);
  check_checksum(block);
  TarHeader header;
  header.dialect = dialect_of(block);
  header.type = block[k_type_offset];
  header.name = text(block, k_name);
  header.link = text(block, k_link);
  if (header.dialect == TarDialect::ustar) {
    // Schilling's star keeps times where the last 24 bytes of the prefix are.
    if (raw(block, k_star_mark) == std::string_view{"tar\0", 4}) malformed(k_prefix, "is of the star format");
    const auto prefix = text(block, k_prefix);
    if (!prefix.empty()) header.name = prefix + '/' + header.name;
  }
  const auto size = number(block, k_size);
  if (size < 0) throw Refusal{Rule::s6_size, "its size is negative"};
  header.size = static_cast<std::uint64_t>(size);
  if (header.size > k_largest_file) throw Refusal{Rule::s6_size, "its size is impossible"};
  header.mode = static_cast<std::uint32_t>(number(block, k_mode) & 07777);
  header.mtime = number(block, k_mtime);
  return header;
}

std::string name_for_message(Bytes bytes) {
  const auto name = raw(as_text(bytes), k_name);
  return std::string{name.substr(0, name.find('\0'))};
}

}  // namespace decant::archive
