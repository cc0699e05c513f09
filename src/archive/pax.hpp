// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace decant::archive {

inline constexpr std::size_t k_max_pax_bytes = 64 * 1024;

// What a PAX extended header says about the entry that follows.
struct PaxFacts {
  std::optional<std::string> path;
  std::optional<std::string> link;
  std::optional<std::uint64_t> size;
  std::optional<std::int64_t> mtime;  // rounded down to whole seconds; before 1970 is fine
  std::uint64_t attributes = 0;       // records of extended attributes, ACLs and flags: never applied
};

// Throws Refusal: S8 for a record that is malformed, given twice or empty, S1 for a NUL in a name, S6 for a
// bad size or a sparse file. Keys that mean nothing to us are passed over.
PaxFacts parse_pax(std::string_view block);

// A global header may hold comments (`git archive` writes the commit id); any other key is refused (S8),
// since it would change every entry that follows.
void check_global_pax(std::string_view block);

// "1700000000.25", "-1.5": seconds, rounded down. nullopt when it is no such number or past 2^53.
std::optional<std::int64_t> parse_pax_time(std::string_view text);

}  // namespace decant::archive
