// SPDX-License-Identifier: Apache-2.0
// Both levels (components, characters) use the same walk: on a mismatch only the last star is widened. That
// is enough, because an earlier star can never help once a later one was reached, and it keeps the time at
// pattern * path instead of exponential.
#include "decant/base/text.hpp"
#include "utf8.hpp"

namespace decant {
namespace {

// Characters are code points; a byte that is not UTF-8 stands for itself, apart from all code points.
char32_t next_character(std::string_view text, std::size_t& at) {
  const Decoded decoded = decode_utf8(text.substr(at));
  if (decoded.size == 0) return 0x110000U + static_cast<unsigned char>(text[at++]);
  at += decoded.size;
  return decoded.code;
}

// One pattern token at `at` against one character. Moves `at` behind the token.
bool token_matches(std::string_view pattern, std::size_t& at, char32_t character) {
  if (pattern[at] == '?') {
    ++at;
    return true;
  }
  // A set needs a closing bracket; one right at its start is a member. Without it '[' is an ordinary
  // character.
  if (pattern[at] == '[') {
    std::size_t first = at + 1;
    const bool negated = first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^');
    if (negated) ++first;
    const std::size_t end = pattern.find(']', first + 1);
    if (end != std::string_view::npos) {
      bool found = false;
      for (std::size_t i = first; i < end;) {
        const char32_t low = next_character(pattern, i);
        char32_t high = low;
        if (i + 1 < end && pattern[i] == '-') {
          ++i;
          high = next_character(pattern, i);
        }
        found = found || (low <= character && character <= high);
      }
      at = end + 1;
      return found != negated;
    }
  }
  return next_character(pattern, at) == character;
}

bool component_matches(std::string_view pattern, std::string_view name) {
  constexpr std::size_t k_none = std::string_view::npos;
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = k_none;
  std::size_t star_covers_to = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_covers_to = n;
      continue;
    }
    std::size_t next_p = p;
    std::size_t next_n = n;
    const char32_t character = next_character(name, next_n);
    if (p < pattern.size() && token_matches(pattern, next_p, character)) {
      p = next_p;
      n = next_n;
      continue;
    }
    if (star == k_none) return false;
    next_character(name, star_covers_to);
    p = star + 1;
    n = star_covers_to;
  }
  return pattern.find_first_not_of('*', p) == k_none;
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view path) {
  constexpr std::size_t k_none = std::string_view::npos;
  const std::vector<std::string> patterns = split(pattern, '/');
  const std::vector<std::string> names = path.empty() ? std::vector<std::string>{} : split(path, '/');
  if (pattern.empty()) return path.empty();
  std::size_t p = 0;
  std::size_t n = 0;
  std::size_t star = k_none;
  std::size_t star_covers_to = 0;
  while (n < names.size()) {
    if (p < patterns.size() && patterns[p] == "**") {
      star = p++;
      star_covers_to = n;
    } else if (p < patterns.size() && component_matches(patterns[p], names[n])) {
      ++p;
      ++n;
    } else if (star != k_none) {
      p = star + 1;
      n = ++star_covers_to;
    } else {
      return false;
    }
  }
  while (p < patterns.size() && patterns[p] == "**") ++p;
  return p == patterns.size();
}

bool is_glob(std::string_view word) {
  return word.find_first_of("*?[/") != std::string_view::npos;
}

}  // namespace decant
