// SPDX-License-Identifier: Apache-2.0
#include "decant/base/text.hpp"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

#include "decant/base/error.hpp"
#include "utf8.hpp"

namespace decant {
namespace {

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0);
}

// Characters that change the order or the lines of the text around them.
bool is_bidi_or_separator(char32_t code) {
  return code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069);
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Edit distance with neighbours swapped counting as one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({changed, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

Decoded decode_utf8(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t size = 0;
  char32_t code = 0;
  char32_t smallest = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2, code = lead & 0x1F, smallest = 0x80;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3, code = lead & 0x0F, smallest = 0x800;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4, code = lead & 0x07, smallest = 0x10000;
  } else {
    return {};
  }
  if (text.size() < size) return {};
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3F);
  }
  if (code < smallest || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, size};
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = decode_utf8(text).size;
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

bool has_control_characters(std::string_view text) {
  while (!text.empty()) {
    const Decoded decoded = decode_utf8(text);
    if (decoded.size != 0 && is_control(decoded.code)) return true;
    text.remove_prefix(std::max<std::size_t>(decoded.size, 1));
  }
  return false;
}

std::string escape_for_display(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Decoded decoded = decode_utf8(text);
    const bool plain = decoded.size != 0 && decoded.code != U'\\' && !is_control(decoded.code) &&
                       !is_bidi_or_separator(decoded.code);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(decoded.size, 1));
    if (plain) {
      safe += bytes;
    } else {
      for (const char c : bytes) safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
    text.remove_prefix(bytes.size());
  }
  return safe;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view k_space = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(k_space);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(k_space) - first + 1);
}

std::string to_lower_ascii(std::string_view text) {
  std::string result{text};
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

bool starts_with_ci(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), text.begin(),
                                                    [](char a, char b) { return lower(a) == lower(b); });
}

std::vector<std::string> nearest(std::string_view wanted, const std::vector<std::string>& candidates,
                                 std::size_t count) {
  // Further away than this is another word, not a slip; a name that contains the wanted one always counts.
  const std::size_t farthest = std::max<std::size_t>(2, wanted.size() / 3);
  const std::string folded = to_lower_ascii(wanted);
  std::vector<std::pair<std::size_t, const std::string*>> found;
  for (const std::string& candidate : candidates) {
    const std::string name = to_lower_ascii(candidate);
    const std::size_t steps = distance(folded, name);
    const bool contains = !folded.empty() && name.find(folded) != std::string::npos;
    if (steps <= farthest || contains) found.emplace_back(steps, &candidate);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  found.resize(std::min(found.size(), count));
  std::vector<std::string> names;
  names.reserve(found.size());
  for (const auto& [steps, name] : found) names.push_back(*name);
  return names;
}

std::string random_hex(std::size_t n) {
  std::string bytes(n, '\0');
  for (std::size_t done = 0; done < n;) {
    const ssize_t got = ::getrandom(bytes.data() + done, n - done, 0);
    if (got > 0) {
      done += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      throw Error{ErrorKind::bug, "the kernel gives no random bytes"};
    }
  }
  std::string hex;
  hex.reserve(2 * n);
  for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

}  // namespace decant
