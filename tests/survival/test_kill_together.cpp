// SPDX-License-Identifier: Apache-2.0
// Several restores at one time.
#include <fmt/format.h>
#include <signal.h>

#include "runs.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace decant;
using namespace decant::test;

namespace {

struct Slow {
  Slow() {
    work_in_memory();
    hub.add_repo({.id = "org/small"}).add_commit(repo_files(release.parts));
    hub.set_rate(0, 2'000'000);
  }
  void wait_until_working() {
    REQUIRE(hub.wait_for([](const HubCounters& counters) { return counters.bytes_cdn > 300'000; }));
  }
  LargeRelease release{6};
  TestHub hub;
};

}  // namespace

TEST_CASE("of two restores of one bundle one works and the other names it") {
  Slow slow;
  const World world;
  const auto line = world.restore(slow.hub.endpoint());
  Program first{line};
  slow.wait_until_working();
  const auto second = run_program(line);
  INFO(second.all());
  CHECK(second.code == 9);
  CHECK(second.all().find(fmt::format("pid {} ", first.pid())) != std::string::npos);
  slow.hub.set_rate(0, 0);
  const auto outcome = first.wait();
  INFO(outcome.all());
  CHECK(outcome.code == 0);
  CHECK(world.tree() == world.wanted(slow.release.bundle, {}));
}

TEST_CASE("the bundle of a dead process is taken over") {
  Slow slow;
  const World world;
  const auto line = world.restore(slow.hub.endpoint());
  {
    Program first{line};
    slow.wait_until_working();
    first.send(SIGKILL);
    first.wait();
  }
  REQUIRE(exists(world.bundle() + "/.decant/owner"));
  slow.hub.set_rate(0, 0);
  const auto outcome = run_program(line);
  INFO(outcome.all());
  CHECK(outcome.code == 0);
  CHECK_FALSE(exists(world.bundle() + "/.decant/owner"));
  CHECK(world.tree() == world.wanted(slow.release.bundle, {}));
}

TEST_CASE("two restores with one cache and two bundles are both right") {
  Slow slow;
  slow.hub.set_rate(0, 20'000'000);
  const World one;
  const World two;
  for (unsigned long round = 0; round < 2; ++round) {
    const std::vector<std::string> shared{"--download-cache", one.cache()};
    Program first{one.restore(slow.hub.endpoint(), shared)};
    Program second{two.restore(slow.hub.endpoint(), shared)};
    for (auto* program : {&first, &second}) {
      const auto outcome = program->wait();
      INFO(outcome.all());
      CHECK(outcome.code == 0);
    }
    for (const auto* world : {&one, &two}) CHECK(world->tree() == world->wanted(slow.release.bundle, {}));
  }
  CHECK(slow.hub.counters().bytes_cdn <= 2 * slow.release.size + 1024);
  for (const auto& [path, what] : snapshot(one.cache())) CHECK(path.find(".partial.") == std::string::npos);
}
