// SPDX-License-Identifier: Apache-2.0
#include "decant/base/budget.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace {

using decant::ByteBudget;
using decant::Stop;

TEST_CASE("a lease gives its bytes back once") {
  const Stop stop;
  ByteBudget budget{100};
  {
    ByteBudget::Lease first = budget.take(60, stop);
    ByteBudget::Lease second = std::move(first);
    CHECK(second.bytes() == 60);
    ByteBudget::Lease third = budget.take(40, stop);
    third = std::move(second);  // gives back the 40
    const auto fourth = budget.take(40, stop);
    CHECK(fourth.bytes() == 40);
  }
  CHECK(budget.peak() == 100);
  CHECK(budget.take(100, stop).bytes() == 100);
}

TEST_CASE("more than the whole budget is granted alone") {
  const Stop stop;
  ByteBudget budget{10};
  auto large = budget.take(1000, stop);
  std::atomic<bool> got{false};
  std::thread waiting{[&] {
    const auto small = budget.take(1, stop);
    got = true;
  }};
  std::this_thread::sleep_for(std::chrono::milliseconds{50});
  CHECK_FALSE(got);
  large.give_back();
  waiting.join();
  CHECK(got);
  CHECK(budget.peak() == 1000);
}

TEST_CASE("whoever waits for memory can be stopped") {
  Stop stop;
  ByteBudget budget{10};
  const auto all = budget.take(10, stop);
  std::thread stopper{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    stop.request(SIGINT);
  }};
  CHECK_THROWS_AS(budget.take(1, stop), decant::Interrupted);
  stopper.join();
  CHECK(budget.peak() == 10);
}

TEST_CASE("many threads never exceed the limit") {
  const Stop stop;
  ByteBudget budget{1000};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 8; ++i) {
    threads.emplace_back([&budget, &stop, i] {
      for (int k = 0; k < 500; ++k) budget.take(100 + 50 * i, stop);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(budget.peak() <= 1000);
}

TEST_CASE("a block holds its bytes of the budget until the last holder is gone") {
  Stop stop;
  ByteBudget budget{64};
  auto block = std::make_shared<decant::Block>(64, budget.take(64, stop));
  std::memcpy(block->storage().data(), "abc", 3);
  block->set_filled(3);
  decant::BlockSpan span{block, block->filled().subspan(1)};
  block.reset();
  CHECK(decant::as_text(span.bytes) == "bc");
  stop.request(SIGTERM);
  CHECK_THROWS_AS(budget.take(64, stop), decant::Interrupted);
  span = {};
  CHECK(budget.take(64, Stop{}).bytes() == 64);
}

}  // namespace
