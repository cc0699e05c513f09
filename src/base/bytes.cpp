// SPDX-License-Identifier: Apache-2.0
#include "decant/base/bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace decant {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t bytes;
};

constexpr std::uint64_t k_kilo = 1000;
constexpr std::array k_units{
    Unit{"", 1},
    Unit{"K", k_kib},
    Unit{"M", k_mib},
    Unit{"G", k_gib},
    Unit{"T", k_gib* k_kib},
    Unit{"KiB", k_kib},
    Unit{"MiB", k_mib},
    Unit{"GiB", k_gib},
    Unit{"TiB", k_gib* k_kib},
    Unit{"kB", k_kilo},
    Unit{"KB", k_kilo},
    Unit{"MB", k_kilo* k_kilo},
    Unit{"GB", k_kilo* k_kilo* k_kilo},
    Unit{"TB", k_kilo* k_kilo* k_kilo* k_kilo},
};

constexpr std::string_view k_digits = "0123456789";

}  // namespace

std::string format_size(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array k_names{"kB", "MB", "GB", "TB", "PB", "EB"};
  std::uint64_t unit = 1000;
  std::size_t name = 0;
  // 999,950 would round to "1000.0 kB" and 999,500 to "1000 kB": go on to the next unit before that.
  while (name + 1 < k_names.size() && bytes >= unit * 1000 - unit / 2) {
    unit *= 1000;
    ++name;
  }
  const std::uint64_t tenths = bytes / (unit / 10) + (bytes % (unit / 10) >= unit / 20 ? 1 : 0);
  if (tenths < 1000) return fmt::format("{}.{} {}", tenths / 10, tenths % 10, k_names[name]);
  const std::uint64_t whole = bytes / unit + (bytes % unit >= unit / 2 ? 1 : 0);
  return fmt::format("{} {}", whole, k_names[name]);
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, 1, ',');
  }
  return text;
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", format_count(count), count == 1 ? one : many);
}

std::string format_duration(std::uint64_t seconds) {
  if (seconds < 60) return fmt::format("{} s", seconds);
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t whole_end = std::min(text.find_first_not_of(k_digits), text.size());
  const auto whole = parse_u64(text.substr(0, whole_end));
  if (!whole) return std::nullopt;
  std::string_view rest = text.substr(whole_end);

  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = rest.substr(0, std::min(rest.find_first_not_of(k_digits), rest.size()));
    rest.remove_prefix(fraction.size());
    // Six digits keep digits * unit within 64 bits; a unit is needed as there is no half byte.
    if (fraction.empty() || fraction.size() > 6 || rest.empty()) return std::nullopt;
  }
  for (const Unit& unit : k_units) {
    if (unit.name != rest) continue;
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(*whole, unit.bytes, &bytes)) return std::nullopt;
    if (!fraction.empty()) {
      std::uint64_t scale = 1;
      for (std::size_t i = 0; i < fraction.size(); ++i) scale *= 10;
      if (__builtin_add_overflow(bytes, *parse_u64(fraction) * unit.bytes / scale, &bytes))
        return std::nullopt;
    }
    if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return bytes;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> parse_u64(std::string_view text) {
  if (text.empty() || text.find_first_not_of(k_digits) != std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace decant
