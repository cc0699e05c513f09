// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace decant::model {

struct Member;
struct Value;

using Array = std::vector<Value>;
using Object = std::vector<Member>;  // in the text's order; keys are unique

// A number that is no whole number of 64 bits (1.5, 1e3, 2^64), as it was written.
struct OddNumber {
  std::string text;
};

// One JSON value. std::int64_t holds negative whole numbers only.
struct Value {
  std::variant<std::monostate, bool, std::uint64_t, std::int64_t, OddNumber, std::string, Array, Object> data;

  template <class T>
  const T* get() const {
    return std::get_if<T>(&data);
  }
  const Value* find(std::string_view key) const;  // nullptr: no object, or no such key
};

struct Member {
  std::string key;
  Value value;
};

inline constexpr std::size_t k_json_max_depth = 64;
inline constexpr std::size_t k_json_max_values = 8'000'000;

// What a text is called in messages.
struct TextOrigin {
  std::string_view name;       // "releases/r1/release_manifest.json"
  std::size_t first_line = 1;  // number of the text's first line
  std::string_view hint;       // what to do when the text is bad
};

// Strict: UTF-8 without byte order mark, no duplicate key at any depth, at most 64 levels and 8,000,000
// values, nothing after the value. Throws Error{state} with line and column.
Value parse_json(std::string_view text, const TextOrigin& origin);

// Compact JSON; numbers as they were written.
std::string to_text(const Value& value);

// A value in a few words, for "found: …": `"abc"`, `-5`, `a list of 3`, `an object`.
std::string describe(const Value& value);

}  // namespace decant::model
