// SPDX-License-Identifier: Apache-2.0
#include "rate.hpp"

#include "support/catch.hpp"

using decant::ui::RateMeter;

namespace {
RateMeter::Time at(int milliseconds) {
  return RateMeter::Time{} + std::chrono::milliseconds{milliseconds};
}
}  // namespace

TEST_CASE("no rate is told before a second has been seen") {
  RateMeter meter;
  CHECK_FALSE(meter.bytes_per_second());
  meter.sample(at(0), 0);
  meter.sample(at(900), 1000);
  CHECK_FALSE(meter.bytes_per_second());
  meter.sample(at(2000), 1000);
  CHECK(meter.bytes_per_second() == 500U);
}

TEST_CASE("the rate is that of the last ten seconds") {
  RateMeter meter;
  for (unsigned second = 0; second <= 60; ++second)
    meter.sample(at(static_cast<int>(second) * 1000), second < 40 ? 0 : (second - 40ULL) * 700);
  CHECK(meter.bytes_per_second() == 700U);
}

TEST_CASE("a stall brings the rate to zero") {
  RateMeter meter;
  meter.sample(at(0), 0);
  meter.sample(at(1000), 5000);
  for (int second = 2; second < 15; ++second) meter.sample(at(second * 1000), 5000);
  CHECK(meter.bytes_per_second() == 0U);
}

TEST_CASE("a total that falls begins anew") {
  RateMeter meter;
  meter.sample(at(0), 1'000'000);
  meter.sample(at(5000), 10);
  CHECK_FALSE(meter.bytes_per_second());
}
