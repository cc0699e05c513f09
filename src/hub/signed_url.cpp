// SPDX-License-Identifier: Apache-2.0
#include "signed_url.hpp"

#include <algorithm>
#include <ctime>

#include "decant/base/text.hpp"

namespace decant::hub {
namespace {

constexpr std::int64_t k_longest_margin = 60;
constexpr std::int64_t k_latest = 253'402'300'799;  // the year 9999

std::optional<std::int64_t> parse_seconds(std::string_view text) {
  const auto number = parse_u64(text);
  if (!number || *number > static_cast<std::uint64_t>(k_latest)) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

// "20260409T125114Z".
std::optional<std::int64_t> parse_compact_date(std::string_view text) {
  if (text.size() != 16 || text[8] != 'T' || text[15] != 'Z') return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t count) -> std::optional<int> {
    const auto value = parse_u64(text.substr(at, count));
    return value ? std::optional{static_cast<int>(*value)} : std::nullopt;
  };
  const auto year = number(0, 4);
  const auto month = number(4, 2);
  const auto day = number(6, 2);
  const auto hour = number(9, 2);
  const auto minute = number(11, 2);
  const auto second = number(13, 2);
  if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
  std::tm broken{};
  broken.tm_year = *year - 1900;
  broken.tm_mon = *month - 1;
  broken.tm_mday = *day;
  broken.tm_hour = *hour;
  broken.tm_min = *minute;
  broken.tm_sec = *second;
  return std::int64_t{timegm(&broken)};
}

}  // namespace

std::optional<std::int64_t> expiry_of(const net::Url& url) {
  const auto question = url.path_and_query.find('?');
  if (question == std::string::npos) return std::nullopt;
  std::optional<std::int64_t> expires;
  std::optional<std::int64_t> signed_at;
  std::optional<std::int64_t> life;
  for (const auto& pair : split(std::string_view{url.path_and_query}.substr(question + 1), '&')) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = to_lower_ascii(std::string_view{pair}.substr(0, equals));
    const std::string_view value = std::string_view{pair}.substr(equals + 1);
    if (name == "expires") expires = parse_seconds(value);
    if (name == "x-amz-date" || name == "x-oss-date") signed_at = parse_compact_date(value);
    if (name == "x-amz-expires" || name == "x-oss-expires") life = parse_seconds(value);
  }
  if (expires) return expires;
  if (signed_at && life) return *signed_at + *life;
  return std::nullopt;
}

std::optional<std::chrono::seconds> usable_for(const net::Url& url, std::int64_t now) {
  const auto expiry = expiry_of(url);
  if (!expiry) return std::nullopt;
  const std::int64_t left = std::max<std::int64_t>(0, *expiry - now);
  return std::chrono::seconds{left - std::min(k_longest_margin, left / 4)};
}

}  // namespace decant::hub
