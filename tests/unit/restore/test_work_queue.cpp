// SPDX-License-Identifier: Apache-2.0
// In which order pieces of work are handed out when other processes bring some of them, and how long these
// are waited for.
#include "work_queue.hpp"

#include <map>

#include "support/catch.hpp"

using namespace decant;
using restore::Others;
using restore::WorkQueue;
using namespace std::chrono_literals;

namespace {

// Time that passes while somebody sleeps, and not otherwise.
class ManualClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override { return now_; }
  std::int64_t wall_seconds() const override { return 0; }
  void sleep(std::chrono::milliseconds duration, const Stop& stop) override {
    stop.throw_if_requested();
    now_ += duration;
    if (tick) tick();
  }
  std::function<void()> tick;

 private:
  std::chrono::steady_clock::time_point now_{};
};

struct Scene {
  ManualClock clock;
  Stop stop;
  restore::Prepared prepared;
  std::map<std::size_t, cache::Claim> claims;
  int looks = 0;

  explicit Scene(bool wait = true) {
    prepared.request.wait = wait;
    prepared.services.clock = &clock;
    prepared.services.reporter = &progress::silent_reporter();
    prepared.services.stop = &stop;
  }
  void claim(std::size_t index) { claims[index].holder = "pid 1 on node since then"; }
  WorkQueue queue(std::size_t count) {
    return WorkQueue{count, prepared,
                     [this](std::size_t index) -> std::optional<cache::Claim> {
                       ++looks;
                       const auto it = claims.find(index);
                       return it == claims.end() ? std::nullopt : std::optional{it->second};
                     },
                     [](std::size_t index) { return "piece " + std::to_string(index); }};
  }
  std::chrono::seconds waited() const {
    return std::chrono::duration_cast<std::chrono::seconds>(clock.now().time_since_epoch());
  }
};

void check_item(const std::optional<WorkQueue::Item>& item, std::size_t index, Others others) {
  REQUIRE(item);
  CHECK(item->index == index);
  CHECK(item->others == others);
}

}  // namespace

TEST_CASE("without --wait pieces come in order and nobody is asked") {
  Scene others{false};
  others.claim(0);
  auto queue = others.queue(2);
  check_item(queue.next(), 0, Others::ignore);
  check_item(queue.next(), 1, Others::ignore);
  CHECK_FALSE(queue.next());
  CHECK(others.looks == 0);
}

TEST_CASE("what nobody brings comes first, then what becomes free") {
  Scene others;
  others.claim(0);
  others.claim(2);
  auto queue = others.queue(4);
  check_item(queue.next(), 1, Others::yield);
  check_item(queue.next(), 3, Others::yield);
  CHECK(others.waited() == 0s);
  others.clock.tick = [&] {
    others.claims[0].beat.mtime_nsec += 1;
    if (others.waited() >= 5s) others.claims.erase(2);
  };
  check_item(queue.next(), 2, Others::yield);
  CHECK(others.waited() == 5s);
  others.clock.tick = [&] { others.claims.clear(); };
  check_item(queue.next(), 0, Others::yield);
  CHECK_FALSE(queue.next());
}

TEST_CASE("a piece that turned out to be with another one is handed out again when that one is done") {
  Scene others;
  auto queue = others.queue(2);
  check_item(queue.next(), 0, Others::yield);
  others.claim(0);
  queue.put_back(0, {others.claims[0]});
  check_item(queue.next(), 1, Others::yield);
  queue.put_back(1, {std::nullopt});  // just finished by the other one
  check_item(queue.next(), 1, Others::yield);
  others.clock.tick = [&] { others.claims.clear(); };
  check_item(queue.next(), 0, Others::yield);
  CHECK_FALSE(queue.next());
}

TEST_CASE("a holder is waited for while it shows signs of life and its bytes grow, and no longer") {
  Scene others;
  others.claim(0);
  auto queue = others.queue(1);
  SECTION("silent from the start") {
    check_item(queue.next(), 0, Others::copy);
    CHECK(others.waited() == 120s);
  }
  SECTION("silent after it had grown for long") {
    others.clock.tick = [&] {
      if (others.waited() < 3000s) others.claims[0].record.mtime_nsec += 1;
    };
    check_item(queue.next(), 0, Others::copy);
    CHECK(others.waited() >= 3100s);
    CHECK(others.waited() <= 3121s);
  }
  SECTION("alive, but nothing comes") {
    others.clock.tick = [&] { others.claims[0].beat.mtime_nsec += 1; };
    check_item(queue.next(), 0, Others::copy);
    CHECK(others.waited() == 600s);
  }
  SECTION("another holder begins its own time") {
    others.clock.tick = [&] {
      if (others.waited() >= 100s) others.claims[0].holder = "pid 2 on node since later";
    };
    check_item(queue.next(), 0, Others::copy);
    CHECK(others.waited() == 220s);
  }
}

TEST_CASE("the limit of --wait ends the waiting, not the work") {
  Scene others;
  others.prepared.request.wait_limit = 30s;
  others.claim(0);
  others.claim(1);
  others.clock.tick = [&] {
    for (auto& [index, claim] : others.claims) claim.record.mtime_nsec += 1;
  };
  auto queue = others.queue(2);
  check_item(queue.next(), 0, Others::copy);
  check_item(queue.next(), 1, Others::copy);
  CHECK(others.waited() >= 30s);
  CHECK(others.waited() <= 31s);
}

TEST_CASE("a signal ends the waiting") {
  Scene others;
  others.claim(0);
  others.clock.tick = [&] { others.stop.request(2); };
  auto queue = others.queue(1);
  CHECK_THROWS_AS(queue.next(), Interrupted);
}

TEST_CASE("a closed queue hands out nothing more") {
  Scene others;
  auto queue = others.queue(2);
  check_item(queue.next(), 0, Others::yield);
  queue.close();
  CHECK_FALSE(queue.next());
}
