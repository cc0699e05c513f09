// SPDX-License-Identifier: Apache-2.0
// Connections that are far slower than the others, and a limit of bytes per second.
#include "fetch_support.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;

namespace {

// Holds requests at a byte of the first chunk until they are stopped; a piece of the others takes 10 ms.
struct Trickle {
  explicit Trickle(Bench& bench) : clock{bench.clock} {
    bench.hub.on_piece = [this](const source::Object&, std::uint64_t at, const Stop& stop) {
      if (at != 300'000 || given_up >= until) return clock.sleep(std::chrono::milliseconds{10}, stop);
      while (!stop.requested()) {
        clock.sleep(std::chrono::milliseconds{100}, stop);
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
      }
      ++given_up;
      stop.throw_if_requested();
    };
  }
  FakeClock& clock;
  int until = 1;
  std::atomic<int> given_up{0};
};

}  // namespace

TEST_CASE("a range that trickles while others run is asked for anew where it was") {
  Bench bench;
  bench.options.window = 64 * k_chunk_bytes;
  const std::string content = random_bytes(1, 24 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  Trickle trickle{bench};
  trickle.until = 2;  // the first fresh connection is no better
  CHECK(fetch_whole(bench, object) == content);
  CHECK(trickle.given_up == 2);
  CHECK(bench.hub.served() == content.size());  // not a byte twice
  const auto messages = bench.reporter.messages();
  REQUIRE(messages.size() == 2);
  CHECK(messages[0].find("its rest is asked for over a new one") != std::string::npos);
  std::size_t again = 0;
  for (const ByteRange& range : bench.hub.requests()) again += range.offset == 300'000 ? 1 : 0;
  CHECK(again == 2);
}

TEST_CASE("a line that is slow everywhere is left in peace") {
  Bench bench;
  bench.options.connections = 1;
  const std::string content = random_bytes(2, 2 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  std::atomic<int> pieces{0};
  bench.hub.on_piece = [&](const source::Object&, std::uint64_t, const Stop& stop) {
    bench.clock.sleep(std::chrono::seconds{1}, stop);
    std::this_thread::sleep_for(std::chrono::milliseconds{60});  // the watcher looks
    ++pieces;
  };
  CHECK(fetch_whole(bench, object) == content);
  CHECK(bench.hub.requests().size() == 2);  // a chunk each
  CHECK(bench.reporter.messages().empty());
}

TEST_CASE("a stop ends a download whose range was taken over") {
  Bench bench;
  bench.options.window = 64 * k_chunk_bytes;
  const auto object = bench.hub.add("part", random_bytes(3, 24 * k_chunk_bytes));
  Trickle trickle{bench};
  trickle.until = 1'000'000;
  const auto downloader = bench.downloader();
  const auto download = downloader->start(object, partial_for(bench.dir, object), bench.counters);
  while (trickle.given_up < 2) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  bench.stop.request(15);
  CHECK_THROWS_AS(download->wait_for(object.size), Interrupted);
}

TEST_CASE("all connections together keep to the limit of bytes per second") {
  Bench bench;
  bench.options.limit_rate = 1'000'000;
  const std::string content = random_bytes(4, 10 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  CHECK(fetch_whole(bench, object) == content);
  std::chrono::milliseconds slept{0};
  for (const auto sleep : bench.clock.sleeps()) slept += sleep;
  // Each connection's sleeps move the one clock; what was waited for in all is at least what the limit asks.
  CHECK(slept >= std::chrono::milliseconds{content.size() / 1000 - 251});
  CHECK(bench.reporter.waits().empty());
}
