// SPDX-License-Identifier: Apache-2.0
#include "decant/base/backoff.hpp"

#include <vector>

#include "support/catch.hpp"

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("waits double up to the ceiling, with full jitter, and end") {
  struct Row {
    const char* name;
    int failures;
    std::optional<seconds> server;
    double random;
    std::optional<milliseconds> wait;
  };
  const decant::BackoffPolicy policy;
  for (const Row& row : std::vector<Row>{
           {"first, no luck", 1, {}, 0.0, milliseconds{0}},
           {"first, half", 1, {}, 0.5, milliseconds{500}},
           {"third", 3, {}, 0.5, milliseconds{2000}},
           {"at the ceiling", 7, {}, 0.5, milliseconds{30'000}},
           {"last try failed", 8, {}, 0.5, std::nullopt},
           {"asked by the server", 1, seconds{7}, 0.5, milliseconds{7500}},
           {"asked for nothing", 1, seconds{0}, 0.0, milliseconds{0}},
           {"asked for the past", 1, seconds{-5}, 0.0, milliseconds{0}},
           {"asked for too much", 1, seconds{86'400}, 0.0, milliseconds{300'000}},
           {"asked for the end of time", 1, seconds::max(), 0.0, milliseconds{300'000}},
           {"asked, but it was the last", 8, seconds{7}, 0.5, std::nullopt},
       }) {
    INFO(row.name);
    CHECK(decant::next_wait(policy, row.failures, row.server, row.random) == row.wait);
  }
}

TEST_CASE("many allowed failures do not overflow the wait") {
  const decant::BackoffPolicy policy{.max_tries_without_progress = 1'000'000};
  CHECK(decant::next_wait(policy, 999'999, {}, 0.5) == milliseconds{30'000});
}

}  // namespace
