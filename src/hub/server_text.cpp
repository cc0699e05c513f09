// SPDX-License-Identifier: Apache-2.0
#include "server_text.hpp"

#include <fmt/format.h>

#include "decant/base/text.hpp"

namespace decant::hub {
namespace {

constexpr std::size_t k_longest_server_text = 300;

}  // namespace

std::string shown_text(std::string_view text, const net::Secret& token) {
  std::string kept{text.substr(0, 4 * k_longest_server_text)};
  if (!token.empty()) {
    for (auto at = kept.find(token.reveal()); at != std::string::npos; at = kept.find(token.reveal())) {
      kept.replace(at, token.reveal().size(), "***");
    }
  }
  kept = escape_for_display(trim(kept));
  if (kept.size() <= k_longest_server_text) return kept;
  std::size_t end = k_longest_server_text;
  while (end > 0 && (static_cast<unsigned char>(kept[end]) & 0xC0U) == 0x80U) --end;
  return kept.substr(0, end) + "...";
}

std::string request_id(const net::ResponseHead& head) {
  for (const auto* name : {"x-request-id", "x-amzn-trace-id", "x-amz-cf-id"}) {
    if (const auto value = head.header(name); !value.empty()) {
      return fmt::format(", request id {}", escape_for_display(value.substr(0, 100)));
    }
  }
  return {};
}

std::string token_words(const Token& token) {
  if (token.value.empty()) return "no token";
  return token.came_from.empty() ? "the token" : "the token from " + token.came_from;
}

}  // namespace decant::hub
