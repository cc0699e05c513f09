// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <random>

#include "decant/base/error.hpp"
#include "fetch_support.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;

// DECANT_TEST_SEED and DECANT_TEST_ROUNDS repeat or lengthen it.
TEST_CASE("any number of cuts and kills ends with the same bytes, and costs at most a chunk each") {
  const auto from_environment = [](const char* name, unsigned long otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoul(text, nullptr, 10);
  };
  const unsigned long seed = from_environment("DECANT_TEST_SEED", std::random_device{}());
  const unsigned long rounds = from_environment("DECANT_TEST_ROUNDS", 15);
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto below = [&random](std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>{0, limit - 1}(random);
  };
  for (unsigned long round = 0; round < rounds; ++round) {
    CAPTURE(round);
    Bench bench;
    bench.options.connections = 1 + static_cast<int>(below(6));
    bench.options.longest_range = (1 + below(4)) * k_chunk_bytes;
    bench.options.window = (1 + below(8)) * k_chunk_bytes;
    const std::string content = random_bytes(seed + round, below(8 * k_chunk_bytes));
    const auto object = bench.hub.add("part", content);
    std::uint64_t cuts = 0;
    // Called one at a time, under the source's own lock.
    bench.hub.set_faults(
        [&, chooser = std::mt19937_64{seed + round}](const source::Object&, ByteRange range) mutable {
          if (chooser() % 2 != 0) return std::optional<Fault>{};
          ++cuts;
          return std::optional{Fault{.at = range.offset + chooser() % (range.length + 1)}};
        });
    bench.options.backoff.max_tries_without_progress = 100;

    const std::uint64_t kills = below(4);
    for (std::uint64_t kill = 0; kill < kills; ++kill) {
      const auto downloader = bench.downloader();
      const auto download = downloader->start(object, partial_for(bench.dir, object), nullptr);
      download->wait_for(below(content.size() + 1));
    }
    kill_owners(bench.dir);
    CHECK(fetch_whole(bench, object) == content);
    CHECK(bench.hub.served() <=
          content.size() + kills * static_cast<std::uint64_t>(bench.options.connections) * k_chunk_bytes);
    CHECK(open_dir(bench.dir.path()).list().empty());
  }
}
