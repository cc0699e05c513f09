// SPDX-License-Identifier: Apache-2.0
#include "decant/base/clock.hpp"

#include <csignal>
#include <thread>

#include "support/catch.hpp"

namespace {

using std::chrono::milliseconds;

TEST_CASE("UTC is told in the way of RFC 3339") {
  CHECK(decant::format_utc(0) == "1970-01-01T00:00:00Z");
  CHECK(decant::format_utc(1'796'050'800) == "2026-11-30T15:00:00Z");
  CHECK(decant::format_utc(-1) == "1969-12-31T23:59:59Z");
}

TEST_CASE("sleep takes as long as asked") {
  decant::Clock& clock = decant::system_clock();
  const auto begin = clock.now();
  clock.sleep(milliseconds{60}, decant::Stop{});
  CHECK(clock.now() - begin >= milliseconds{60});
  clock.sleep(milliseconds{0}, decant::Stop{});
  clock.sleep(milliseconds{-5}, decant::Stop{});
}

TEST_CASE("sleep ends soon after a stop is requested") {
  decant::Stop stop;
  std::thread stopper{[&] {
    std::this_thread::sleep_for(milliseconds{30});
    stop.request(SIGTERM);
  }};
  try {
    decant::system_clock().sleep(std::chrono::minutes{5}, stop);
    FAIL("was not interrupted");
  } catch (const decant::Interrupted& interrupted) {
    CHECK(interrupted.signal == SIGTERM);
  }
  stopper.join();
}

TEST_CASE("the first signal is the one that counts") {
  decant::Stop stop;
  stop.throw_if_requested();
  stop.request(SIGINT);
  stop.request(SIGTERM);
  CHECK(stop.signal() == SIGINT);
}

}  // namespace
