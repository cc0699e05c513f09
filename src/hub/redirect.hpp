// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "decant/net/transport.hpp"

namespace decant::hub {

inline constexpr int k_most_hops = 5;

bool is_redirect(int status);

struct NextHop {
  std::optional<net::Url> url;  // empty: refused
  std::string refusal;          // in words, without the target's query
};

// Where a redirect may lead: never from https to http, to http only within one origin or between loopback
// addresses, to nothing else at all. `hops` counts the redirects followed so far.
NextHop next_hop(const net::Url& from, std::string_view location, const net::Origin& endpoint, int hops);

}  // namespace decant::hub
