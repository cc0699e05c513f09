// SPDX-License-Identifier: Apache-2.0
// The program is killed with SIGKILL at random moments of a download, and run again.
#include <signal.h>

#include <random>

#include "decant/cache/partial.hpp"
#include "runs.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace decant;
using namespace decant::test;

namespace {

constexpr int k_connections = 4;
// What a kill may cost: a chunk on each connection, and what lay in socket buffers.
constexpr std::uint64_t k_per_kill = k_connections * (cache::k_chunk_bytes + 256 * k_kib);
constexpr std::uint64_t k_per_run = 64;  // the probe for access

struct Line {
  explicit Line(const World& world, const TestHub& hub, bool with_cache)
      : words{world.restore(hub.endpoint(), {"--connections", std::to_string(k_connections)})} {
    if (!with_cache) words.insert(words.end(), {"--download-cache", "none"});
  }
  std::vector<std::string> words;
};

void kill_at_random_moments(bool with_cache) {
  work_in_memory();
  const LargeRelease release{40};
  TestHub hub;
  hub.add_repo({.id = "org/small"}).add_commit(repo_files(release.parts));
  hub.set_rate(0, 80'000'000);
  std::mt19937_64 random{seed_of_this_run()};

  constexpr unsigned long k_kills = 5;
  unsigned long killed = 0;
  std::uint64_t most = 0;
  for (unsigned long round = 0; round < 5 * soak_factor(); ++round) {
    const World world;
    const auto wanted = world.wanted(release.bundle, {});
    const Line line{world, hub, with_cache};
    const auto before = hub.counters().bytes_cdn;
    for (unsigned long i = 0; i < k_kills; ++i) {
      const auto served = hub.counters().bytes_cdn;
      const auto left = release.size - std::min(release.size, served - before);
      const auto moment = left == 0 ? served : served + random() % left;
      CAPTURE(round, i, moment - served);
      Program program{line.words};
      REQUIRE(hub.wait_for([&](const HubCounters& counters) { return counters.bytes_cdn >= moment; }));
      program.send(SIGKILL);
      const auto outcome = program.wait();
      if (outcome.signal == SIGKILL) ++killed;
      REQUIRE(world.half_file(wanted).empty());
      REQUIRE(world.stray().empty());
    }
    CAPTURE(round);
    const auto outcome = run_program(line.words);
    INFO(outcome.all());
    REQUIRE(outcome.code == 0);
    REQUIRE(world.tree() == wanted);
    const auto served = hub.counters().bytes_cdn - before;
    most = std::max(most, served - release.size);
    CHECK(served <= release.size + k_kills * k_per_kill + (k_kills + 1) * k_per_run);
  }
  WARN(killed << " kills; at most " << most << " bytes of " << release.size
              << " came twice in a restore with " << k_kills);
}

}  // namespace

TEST_CASE("a restore killed at random moments finishes with no more than what was in flight") {
  kill_at_random_moments(true);
}

TEST_CASE("a restore without cache killed at random moments finishes with no more than what was in flight") {
  kill_at_random_moments(false);
}
