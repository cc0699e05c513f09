// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace decant {

bool is_valid_utf8(std::string_view text);
// True when text holds a C0 or C1 control character or DEL (UTF-8 decoded; invalid UTF-8 counts as none).
bool has_control_characters(std::string_view text);

// Safe to print on a terminal: control characters, bidi overrides, invalid UTF-8 and '\' become \xHH.
std::string escape_for_display(std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string to_lower_ascii(std::string_view text);
bool starts_with_ci(std::string_view text, std::string_view prefix);

// Glob over a '/'-separated path: `*` and `?` stay within a component, `[a-z]` and `[!x]` are sets, `**`
// spans any number of components (also none). The whole path must match.
bool glob_match(std::string_view pattern, std::string_view path);
// A word with none of `*?[/` is a name, not a glob.
bool is_glob(std::string_view word);

// Up to `count` candidates nearest to `wanted` by edit distance, best first; for "did you mean".
std::vector<std::string> nearest(std::string_view wanted, const std::vector<std::string>& candidates,
                                 std::size_t count);

// n random bytes from the kernel as lower-case hex (2n characters).
std::string random_hex(std::size_t n);

}  // namespace decant
