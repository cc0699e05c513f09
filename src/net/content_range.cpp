// SPDX-License-Identifier: Apache-2.0
#include "decant/net/content_range.hpp"

#include "decant/base/bytes.hpp"
#include "decant/base/text.hpp"

namespace decant::net {

std::optional<ContentRange> parse_content_range(std::string_view value) {
  value = trim(value);
  if (!starts_with_ci(value, "bytes ")) return std::nullopt;
  value = trim(value.substr(6));
  const auto dash = value.find('-');
  const auto slash = value.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || slash < dash) return std::nullopt;
  const auto first = parse_u64(value.substr(0, dash));
  const auto last = parse_u64(value.substr(dash + 1, slash - dash - 1));
  const auto total = parse_u64(value.substr(slash + 1));
  if (!first || !last || !total || *last < *first || *last >= *total) return std::nullopt;
  return ContentRange{*first, *last, *total};
}

}  // namespace decant::net
