// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace decant {

// How often and how long to wait after failures that may pass: full jitter over an exponential ceiling
// (as in the AWS "exponential backoff and jitter" note). Pure: the caller gives the attempt and a random
// number.
struct BackoffPolicy {
  int max_tries_without_progress = 8;
  std::chrono::milliseconds first{1000};
  std::chrono::milliseconds ceiling{60'000};
  std::chrono::milliseconds longest_server_wait{300'000};  // a Retry-After beyond this is cut to it
};

// `failures`: failures in a row without progress, 1 for the first. `server_wait`: what the server asked for,
// if it did (obeyed, plus up to a second of jitter). `random` in [0, 1). nullopt: give up.
std::optional<std::chrono::milliseconds> next_wait(const BackoffPolicy& policy, int failures,
                                                   std::optional<std::chrono::seconds> server_wait,
                                                   double random);

}  // namespace decant
