// SPDX-License-Identifier: Apache-2.0
#include "decant/base/threads.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <system_error>

#include "decant/base/queue.hpp"
#include "decant/base/stop.hpp"
#include "support/catch.hpp"
#include "support/no_threads.hpp"

namespace {

using decant::BoundedQueue;
using decant::ThreadGroup;

TEST_CASE("a queue hands on in order and drains after close") {
  BoundedQueue<std::unique_ptr<int>> queue{2};
  CHECK(queue.push(std::make_unique<int>(1)));
  CHECK(queue.push(std::make_unique<int>(2)));
  CHECK(queue.size() == 2);
  queue.close();
  CHECK_FALSE(queue.push(std::make_unique<int>(3)));
  CHECK(**queue.pop() == 1);
  CHECK(**queue.pop() == 2);
  CHECK_FALSE(queue.pop().has_value());
}

TEST_CASE("a full queue makes the pusher wait and close frees it") {
  BoundedQueue<int> queue{1};
  queue.push(1);
  std::atomic<int> outcome{-1};
  ThreadGroup threads;
  threads.start([&] { outcome = queue.push(2) ? 1 : 0; });
  queue.close();
  threads.wait();
  CHECK(outcome == 0);
}

TEST_CASE("everything pushed by several threads arrives once") {
  BoundedQueue<int> queue{3};
  std::atomic<int> sum{0};
  ThreadGroup readers;
  ThreadGroup writers;
  for (int i = 0; i < 3; ++i) {
    readers.start([&] {
      while (auto item = queue.pop()) sum += *item;
    });
    writers.start([&] {
      for (int k = 1; k <= 1000; ++k) queue.push(k);
    });
  }
  writers.wait();
  queue.close();
  readers.wait();
  CHECK(sum == 3 * 500'500);
}

TEST_CASE("the first exception reaches the one who waits, and the group works on") {
  ThreadGroup threads;
  std::atomic<int> told{0};
  BoundedQueue<int> queue{1};
  threads.start([&] { queue.pop(); });
  threads.start([] { throw std::runtime_error{"broken"}; },
                [&] {
                  ++told;
                  queue.close();  // lets the other thread end
                });
  CHECK_THROWS_WITH(threads.wait(), "broken");
  CHECK(told == 1);
  CHECK_FALSE(threads.failed());
  threads.start([] {});
  threads.wait();
}

TEST_CASE("the failure is known by the time it is told") {
  ThreadGroup threads;
  std::atomic<bool> known{false};
  threads.start([] { throw std::runtime_error{"broken"}; }, [&] { known = threads.failed(); });
  CHECK_THROWS(threads.wait());
  CHECK(known);
}

TEST_CASE("an interrupt travels as what it is") {
  ThreadGroup threads;
  threads.start([] { throw decant::Interrupted{2}; });
  CHECK_THROWS_AS(threads.wait(), decant::Interrupted);
}

TEST_CASE("a thread that the system refuses is no failure where fewer will do") {
  ThreadGroup threads;
  std::atomic<int> ran{0};
  CHECK(threads.try_start([&] { ++ran; }));
  {
    const decant::test::NoThreads refused;
    CHECK_FALSE(threads.try_start([&] { ++ran; }));
    CHECK_THROWS_AS(threads.start([&] { ++ran; }), std::system_error);
  }
  CHECK(threads.try_start([&] { ++ran; }));
  threads.wait();
  CHECK(ran == 2);
}

TEST_CASE("what fails in a thread that was tried reaches the one who waits") {
  ThreadGroup threads;
  CHECK(threads.try_start([] { throw std::runtime_error{"broken"}; }));
  CHECK_THROWS_WITH(threads.wait(), "broken");
}

TEST_CASE("the destructor joins and keeps silent") {
  std::atomic<bool> ran{false};
  {
    ThreadGroup threads;
    threads.start([&] {
      ran = true;
      throw std::runtime_error{"unheard"};
    });
  }
  CHECK(ran);
}

}  // namespace
