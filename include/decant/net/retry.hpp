// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "decant/base/backoff.hpp"
#include "decant/base/clock.hpp"
#include "decant/net/transport.hpp"

namespace decant::net {

// What to do about an answer, purely from the answer.
enum class Judgement { ok, retry, give_up };
// 2xx, 3xx: ok. 408, 425, 429, 500, 502, 503, 504, cut, stalled, no_connect: retry. The rest: give_up.
Judgement judge(const Outcome& outcome);

// How long the server asks us to wait: `RateLimit: "api";r=0;t=55` (draft-ietf-httpapi-ratelimit-headers, t +
// 1), else Retry-After in seconds or as an HTTP date (RFC 9110 section 10.2.3). nullopt when it does not say.
std::optional<std::chrono::seconds> server_wait(const ResponseHead& head, std::int64_t wall_now);

// An HTTP date (RFC 9110 section 5.6.7, the obsolete forms too) in seconds since 1970.
std::optional<std::int64_t> parse_http_date(std::string_view text);

// Small requests (API calls, resolves) with retries. `on_wait` says in words what is waited for; "" when
// over.
class RetryingFetcher {
 public:
  // For services that say in the body what the status should say: sees each answer before it is judged, and
  // may change it.
  using Translate = std::function<void(FetchedBody&)>;
  RetryingFetcher(Transport& transport, Clock& clock, BackoffPolicy policy,
                  std::function<void(std::string_view)> on_wait, Translate translate = {});
  // The last outcome: ok, or what is left after all retries. Throws Interrupted.
  FetchedBody fetch(const Request& request, std::uint64_t limit, const Stop& stop);

 private:
  Transport& transport_;
  Clock& clock_;
  BackoffPolicy policy_;
  std::function<void(std::string_view)> on_wait_;
  Translate translate_;
};

}  // namespace decant::net
