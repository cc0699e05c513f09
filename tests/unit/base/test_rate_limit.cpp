// SPDX-License-Identifier: Apache-2.0
#include "decant/base/rate_limit.hpp"

#include <vector>

#include "decant/base/error.hpp"
#include "support/catch.hpp"

using namespace decant;
using std::chrono::milliseconds;

namespace {

class SteppingClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override { return now_; }
  std::int64_t wall_seconds() const override { return 0; }
  void sleep(milliseconds duration, const Stop& stop) override {
    stop.throw_if_requested();
    now_ += duration;
    slept += duration;
  }
  void pass(milliseconds time) { now_ += time; }

  milliseconds slept{0};

 private:
  std::chrono::steady_clock::time_point now_{std::chrono::hours{1}};
};

}  // namespace

TEST_CASE("bytes keep to their rate over any number of pieces") {
  for (const std::uint64_t piece : {1ULL, 999ULL, 16'384ULL, 524'288ULL, 3'000'000ULL}) {
    CAPTURE(piece);
    SteppingClock clock;
    RateLimit limit{1'000'000, clock};
    const std::uint64_t pieces = 20'000'000 / piece;
    for (std::uint64_t i = 0; i < pieces; ++i) limit.pay(piece, Stop{});
    const auto due = milliseconds{pieces * piece / 1000};
    CHECK(clock.slept <= due);
    CHECK(clock.slept >= due - milliseconds{251});  // the bucket
  }
}

TEST_CASE("a pause saves up no more than a quarter of a second") {
  SteppingClock clock;
  RateLimit limit{1'000'000, clock};
  limit.pay(250'000, Stop{});
  CHECK(clock.slept == milliseconds{0});
  clock.pass(std::chrono::hours{1});
  limit.pay(1'250'000, Stop{});
  CHECK(clock.slept == milliseconds{1000});
}

TEST_CASE("no rate is no limit, and a wait can be stopped") {
  SteppingClock clock;
  RateLimit{0, clock}.pay(1ULL << 60U, Stop{});
  CHECK(clock.slept == milliseconds{0});
  Stop stop;
  stop.request(2);
  RateLimit limit{1, clock};
  CHECK_THROWS_AS(limit.pay(100, stop), Interrupted);
}
