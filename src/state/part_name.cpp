// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decant/hash/hasher.hpp"
#include "decant/state/bundle.hpp"

namespace decant::state {
namespace {

constexpr std::size_t k_longest_plain = 100;
constexpr std::size_t k_kept_of_others = 60;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

}  // namespace

// Lower-case names stay as they are; others get a digest behind '~', which no plain name holds, so that two
// parts never share a file, also where the file system folds case.
std::string part_file_name(std::string_view part) {
  const bool plain = !part.empty() && part.size() <= k_longest_plain && part.front() != '.' &&
                     std::all_of(part.begin(), part.end(), is_plain);
  if (plain) return std::string{part};
  std::string name;
  for (const char c : part.substr(0, k_kept_of_others)) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    name += is_plain(lower) && !(name.empty() && lower == '.') ? lower : '_';
  }
  return name + '~' + hash::sha256(part).hex().substr(0, 16);
}

}  // namespace decant::state
