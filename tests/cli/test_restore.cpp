// SPDX-License-Identifier: Apache-2.0
#include "cli_world.hpp"
#include "support/catch.hpp"

namespace decant::test {

TEST_CASE("restore brings the whole release, and a second run asks nothing and writes nothing") {
  World world;
  const auto first = world.restore();
  INFO(first);
  REQUIRE(first.code == 0);
  CHECK(has(first.out, {"done:", "data", "images_000", "runtime", "notes"}));
  CHECK(world.is_restored());

  world.hub.clear_log();
  const auto before = stamps_of(world.dir.path());
  const auto second = world.restore();
  INFO(second);
  CHECK(second.code == 0);
  CHECK(has(second.out, {"unchanged since", "decant verify"}));
  CHECK(world.requests() == 0);
  CHECK(stamps_of(world.dir.path()) == before);
}

}  // namespace decant::test
