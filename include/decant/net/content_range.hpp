// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace decant::net {

// A Content-Range value, "bytes 0-99/1000" (RFC 9110 section 14.4); positions are inclusive.
struct ContentRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t total = 0;
};
// nullopt for anything else, also for an unknown total ("*") and positions that contradict one another.
std::optional<ContentRange> parse_content_range(std::string_view value);

}  // namespace decant::net
