// SPDX-License-Identifier: Apache-2.0
#include "pace.hpp"

#include "decant/base/bytes.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::fetch;
using std::chrono::seconds;

TEST_CASE("requests last seconds, fit the window, and get short towards the end") {
  struct Row {
    const char* name;
    RunLimits limits;
    std::uint64_t expected;
  };
  const std::uint64_t many = 100'000;
  for (const Row& row : {
           Row{"a fast line: the longest range", {64 * k_mib, 512 * k_mib, many, 4, 1e9}, 64},
           Row{"a rate that nobody knows yet", {64 * k_mib, 512 * k_mib, many, 4, 0}, 8},
           Row{"four seconds of a slow line", {64 * k_mib, 512 * k_mib, many, 4, 2e6}, 7},
           Row{"less than a chunk in four seconds", {64 * k_mib, 512 * k_mib, many, 4, 1e4}, 1},
           Row{"the window is shared", {64 * k_mib, 512 * k_mib, many, 16, 1e9}, 32},
           Row{"what is left is shared twice over", {64 * k_mib, 512 * k_mib, 64, 16, 1e9}, 2},
           Row{"less left than connections", {64 * k_mib, 512 * k_mib, 5, 16, 1e9}, 1},
           Row{"one connection", {64 * k_mib, 512 * k_mib, many, 1, 1e9}, 64},
           Row{"no connection is one", {64 * k_mib, 512 * k_mib, many, 0, 1e9}, 64},
           Row{"a range below a chunk", {0, 512 * k_mib, many, 1, 1e9}, 1},
       }) {
    CAPTURE(row.name);
    RunLimits limits = row.limits;
    limits.chunk_bytes = k_mib;
    CHECK(longest_run(limits) == row.expected);
  }
}

TEST_CASE("the pace follows the requests that say something") {
  Pace pace;
  CHECK(pace.rate() == 0);
  pace.note(1000, std::chrono::milliseconds{100});  // the way there and back
  CHECK(pace.rate() == 0);
  pace.note(10'000'000, seconds{1});
  CHECK(pace.rate() == Approx(1e7));
  for (int i = 0; i < 30; ++i) pace.note(2'000'000, seconds{1});
  CHECK(pace.rate() == Approx(2e6).epsilon(0.01));
}

TEST_CASE("only a connection that is far behind, with much to bring, is given up") {
  struct Row {
    const char* name;
    Lag lag;
    bool expected;
  };
  for (const Row& row : {
           Row{"a trickle", {1100, 1e6, 10'000'000}, true},
           Row{"nothing at all", {0, 1e6, 10'000'000}, true},
           Row{"four times slower", {250'000, 1e6, 10'000'000}, false},
           Row{"nine times slower", {110'000, 1e6, 10'000'000}, true},
           Row{"almost done", {110'000, 1e6, 400'000}, false},
           Row{"all are slow", {1100, 1100, 10'000'000}, false},
           Row{"no others", {1100, 0, 10'000'000}, false},
       }) {
    CAPTURE(row.name);
    CHECK(is_lagging(row.lag) == row.expected);
  }
}

TEST_CASE("a range is watched longer each time it was taken over") {
  CHECK(watched_for(0) == seconds{5});
  CHECK(watched_for(1) == seconds{10});
  CHECK(watched_for(4) == seconds{80});
  CHECK(watched_for(1000) == seconds{80});
}
