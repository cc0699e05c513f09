// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "decant/net/transport.hpp"

namespace decant::hub {

// When a signed URL ends, in seconds since 1970, from `Expires=` or from `X-Amz-Date=` and `X-Amz-Expires=`
// (`x-oss-date=` and `x-oss-expires=` at Alibaba Cloud).
// The hub hands out URLs that were signed minutes ago, so it is not told by when we asked.
std::optional<std::int64_t> expiry_of(const net::Url& url);

// For how long from now a URL is used before a new one is asked for; nullopt: until it is refused. `now` is
// the server's own time where it told it, so a wrong local clock does no harm.
std::optional<std::chrono::seconds> usable_for(const net::Url& url, std::int64_t now);

}  // namespace decant::hub
