// SPDX-License-Identifier: Apache-2.0
#include "zstd_frame.hpp"

#include <array>
#include <string_view>

namespace decant::archive {
namespace {

constexpr std::uint32_t k_magic = 0xFD2FB528;
constexpr std::uint32_t k_skippable_magic = 0x184D2A50;  // the low four bits are free
constexpr std::size_t k_magic_size = 4;

std::uint64_t little_endian(Bytes bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

bool is_skippable(std::uint64_t magic) {
  return (magic & 0xFFFFFFF0U) == k_skippable_magic;
}

// Sizes of the optional fields, from the descriptor byte.
struct Layout {
  std::size_t window;
  std::size_t dictionary;
  std::size_t content;
  bool single_segment;
};

Layout layout_of(std::byte descriptor_byte) {
  const auto descriptor = std::to_integer<unsigned>(descriptor_byte);
  static constexpr std::array<std::size_t, 4> k_dictionary{0, 1, 2, 4};
  static constexpr std::array<std::size_t, 4> k_content{0, 2, 4, 8};
  const bool single = (descriptor & 0x20U) != 0;
  auto content = k_content[descriptor >> 6];
  if (content == 0 && single) content = 1;
  return {single ? std::size_t{0} : std::size_t{1}, k_dictionary[descriptor & 3U], content, single};
}

}  // namespace

std::size_t frame_header_size(Bytes head) {
  if (head.size() <= k_magic_size) return k_magic_size + 1;
  const auto magic = little_endian(head.first(k_magic_size));
  if (is_skippable(magic)) return 8;
  if (magic != k_magic) return k_magic_size + 1;
  const auto layout = layout_of(head[k_magic_size]);
  return k_magic_size + 1 + layout.window + layout.dictionary + layout.content;
}

std::optional<FrameHeader> parse_frame_header(Bytes head) {
  if (head.size() < k_magic_size + 1) return std::nullopt;
  const auto magic = little_endian(head.first(k_magic_size));
  FrameHeader header;
  if (is_skippable(magic)) {
    header.kind = FrameKind::skippable;
    header.skippable_size = little_endian(head.subspan(4, 4));
    return header;
  }
  if (magic != k_magic) return std::nullopt;
  const auto layout = layout_of(head[k_magic_size]);
  auto rest = head.subspan(k_magic_size + 1);
  if (layout.window == 1) {
    const auto code = std::to_integer<unsigned>(rest[0]);
    const std::uint64_t base = 1ULL << (10 + (code >> 3));
    header.window = base + base / 8 * (code & 7U);
    rest = rest.subspan(1);
  }
  header.has_dictionary = little_endian(rest.first(layout.dictionary)) != 0;
  rest = rest.subspan(layout.dictionary);
  if (layout.single_segment) {
    header.window = little_endian(rest.first(layout.content)) + (layout.content == 2 ? 256U : 0U);
  }
  return header;
}

std::string describe_foreign(Bytes start) {
  struct Look {
    std::size_t offset;
    std::string_view magic;
    std::string_view words;
  };
  static constexpr std::array k_looks{
      Look{0, "\x1f\x8b", "a gzip file"},
      Look{0,
           "\xfd"
           "7zXZ",
           "an xz file"},
      Look{0, "BZh", "a bzip2 file"},
      Look{0, "\x04\x22\x4d\x18", "an lz4 file"},
      Look{0, "PK\x03\x04", "a zip file"},
      Look{0, "version https://git-lfs", "a git-lfs pointer, not the file it stands for"},
      Look{0, "<", "an HTML or XML page"},
      Look{0, "{", "a JSON text"},
      Look{257, "ustar", "a plain tar archive"},
  };
  const auto text = as_text(start);
  for (const auto& look : k_looks) {
    if (text.size() >= look.offset && text.substr(look.offset, look.magic.size()) == look.magic) {
      return std::string{look.words};
    }
  }
  if (text.find_first_not_of('\0') == std::string_view::npos) return "nothing but zeros";
  return "no known format";
}

}  // namespace decant::archive
