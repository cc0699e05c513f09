// SPDX-License-Identifier: Apache-2.0
#include "token_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decant/base/error.hpp"

namespace decant::hub {

void check_token(const Token& token, const Endpoint& endpoint, std::string_view hint) {
  const std::string& value = token.value.reveal();
  if (value.empty()) return;
  const std::string from = token.came_from.empty() ? "the token" : "the token from " + token.came_from;
  const bool clean = std::all_of(value.begin(), value.end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!clean) {
    throw Error{Problem{.kind = ErrorKind::usage,
                        .thing = from + " cannot be sent",
                        .expected = "printable characters without spaces",
                        .found = "a space, a line end or another byte that no token has",
                        .hint = std::string{hint}}};
  }
  if (endpoint.origin.scheme == "http" && !endpoint.origin.is_loopback()) {
    throw Error{Problem{.kind = ErrorKind::usage,
                        .thing = fmt::format("{} would travel unencrypted to {}", from, endpoint.str()),
                        .expected = "https, or no token",
                        .found = "http",
                        .hint = "use an https endpoint, or remove the token"}};
  }
}

}  // namespace decant::hub
