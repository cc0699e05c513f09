// SPDX-License-Identifier: Apache-2.0
#include "width.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace decant::ui {
namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
};

Character decode(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  const std::uint8_t first = byte(0);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  if (length == 1 || text.size() < length) return {first < 0x80 ? first : std::uint32_t{'?'}, 1};
  std::uint32_t code = first & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {'?', 1};
    code = code << 6 | (byte(i) & 0x3fU);
  }
  return {code, length};
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// The blocks that matter for file names: East Asian wide and full-width forms, emoji.
constexpr std::array k_wide{
    Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},   Range{0x3041, 0xa4cf},   Range{0xa960, 0xa97f},
    Range{0xac00, 0xd7a3},   Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},   Range{0xff00, 0xff60},
    Range{0xffe0, 0xffe6},   Range{0x1f300, 0x1f64f}, Range{0x1f680, 0x1f6ff}, Range{0x1f900, 0x1f9ff},
    Range{0x20000, 0x3fffd},
};
// Combining marks, joiners, variation selectors.
constexpr std::array k_zero{
    Range{0x0300, 0x036f}, Range{0x0483, 0x0489}, Range{0x0591, 0x05bd}, Range{0x0610, 0x061a},
    Range{0x064b, 0x065f}, Range{0x1ab0, 0x1aff}, Range{0x1dc0, 0x1dff}, Range{0x200b, 0x200f},
    Range{0x20d0, 0x20ff}, Range{0x3099, 0x309a}, Range{0xfe00, 0xfe0f}, Range{0xfe20, 0xfe2f},
};

template <class Ranges>
bool contains(const Ranges& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return code >= range.first && code <= range.last; });
}

int width_of(std::uint32_t code) {
  if (code < 0x300) return 1;
  if (contains(k_zero, code)) return 0;
  return contains(k_wide, code) ? 2 : 1;
}

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const Character character = decode(text);
    width += width_of(character.code);
    text.remove_prefix(character.bytes);
  }
  return width;
}

std::string cut_to_width(std::string_view text, int columns, Keep keep) {
  if (display_width(text) <= columns) return std::string{text};
  constexpr std::string_view k_dots = "...";
  if (columns <= static_cast<int>(k_dots.size())) {
    return std::string{k_dots.substr(0, static_cast<std::size_t>(std::max(columns, 0)))};
  }
  const int room = columns - static_cast<int>(k_dots.size());
  if (keep == Keep::tail) {
    std::string_view rest = text;
    while (display_width(rest) > room) rest.remove_prefix(decode(rest).bytes);
    return std::string{k_dots}.append(rest);
  }
  int width = 0;
  std::size_t end = 0;
  for (;;) {
    const Character character = decode(text.substr(end));
    const int next = width + width_of(character.code);
    if (next > room) break;
    width = next;
    end += character.bytes;
  }
  return std::string{text.substr(0, end)}.append(k_dots);
}

}  // namespace decant::ui
