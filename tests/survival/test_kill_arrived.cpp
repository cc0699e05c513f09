// SPDX-License-Identifier: Apache-2.0
// What has arrived stays: one object, and a restore of it that is stopped at each call. From the first stop
// after which nothing has to come again, no later one may lose it.
#include <unistd.h>

#include "runs.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace decant;
using namespace decant::test;

TEST_CASE("what has arrived is not lost by a stop at any later call") {
  work_in_memory();
  Tree tree;
  tree.dir("d").file("d/a", random_bytes(1, 20'000)).link("d/l", "a");
  Wanted archive;
  tree.add_to(archive, "");
  const auto shard = random_bytes(2, 20'000);
  const HubProcess hub{[&](TestHub& served) {
    served.add_repo({.id = "org/small"})
        .add_commit(repo_files({{.name = "data",
                                 .content = zstd_frame(tree.tar()),
                                 .where = R"("unpack": {"root": "bundle", "under": ""})",
                                 .size = {},
                                 .sha256 = {}}}));
    served.add_repo({.id = "org/loose"}).add_commit({{"shard", shard, Store::lfs}});
  }};
  const bool is_loose = GENERATE(true, false);
  const bool with_cache = GENERATE(true, false);
  const auto line_for = [&](const World& world) {
    auto line = is_loose ? world.restore_loose(hub.endpoint()) : world.restore(hub.endpoint());
    line.insert(line.end(), {"--jobs", "1", "--connections", "1", "--download-cache",
                             with_cache ? world.cache() : std::string{"none"}});
    return line;
  };
  const Wanted wanted = is_loose ? Wanted{{"shard", wanted_loose_file(shard)}} : archive;

  const auto at_first = hub.bytes_served();
  {
    const World world;
    REQUIRE(run_forked(line_for(world)).code == 0);
  }
  const auto one = hub.bytes_served() - at_first;
  constexpr std::uint64_t k_probe = 1;
  unsigned long kept_since = 0;
  bool killed = true;
  for (unsigned long k = 1; killed; ++k) {
    CAPTURE(is_loose, with_cache, k, kept_since);
    const World world;
    const auto before = hub.bytes_served();
    const auto stopped = run_forked(line_for(world), [k](std::string_view /*call*/, unsigned long number) {
      if (number == k) ::_exit(k_stopped_here);
      return 0;
    });
    killed = stopped.code == k_stopped_here;
    const bool had_come = hub.bytes_served() - before >= one;
    REQUIRE(run_forked(line_for(world)).code == 0);
    REQUIRE(world.tree() == world.wanted(wanted, {}));
    const bool kept = had_come && hub.bytes_served() - before <= one + k_probe;
    if (kept && kept_since == 0) kept_since = k;
    if (kept_since != 0) CHECK(kept);
    REQUIRE(k < 1000);
  }
  CHECK(kept_since > 0);
}
