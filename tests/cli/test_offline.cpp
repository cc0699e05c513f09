// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "cli_world.hpp"
#include "support/catch.hpp"

// A login node fetches, a node without network restores.
namespace decant::test {
namespace {

namespace stdfs = std::filesystem;

Args offline(const World& world, const Args& more = {}) {
  Args args{"restore",      "org/release",      "--release",    "releases/r1",
            "--offline",    "--download-cache", world.cache(),  "--bundle",
            world.bundle(), "--runtime-root",   world.runtime()};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

void cut_network(World& world) {
  world.hub.refuse(Where::hub);
  world.hub.refuse(Where::cdn);
  world.hub.clear_log();
}

}  // namespace

TEST_CASE("a cache that fetch filled is all that restore --offline needs") {
  World world;
  const auto fetched = world.fetch();
  INFO(fetched);
  REQUIRE(fetched.code == 0);
  CHECK(has(fetched.out, {"the cache holds everything", world.first_commit}));
  CHECK(!exists(world.bundle()));
  cut_network(world);
  const auto plan = [&] {
    auto args = offline(world);
    args[0] = "plan";
    world.forbid_writes();
    const auto ran = world.run(args);
    world.forbid_writes(false);
    return ran;
  }();
  INFO(plan);
  CHECK(plan.code == 0);
  CHECK(has(plan.out, {"cached"}));
  const auto ran = world.run(offline(world));
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(world.requests() == 0);
  CHECK(world.verify({"--hash-media"}).code == 0);
  CHECK(world.run(offline(world)).code == 0);
  CHECK(world.run(offline(world, {"--revision", world.first_commit})).code == 0);
}

TEST_CASE("fetch goes on where it stopped, and fetches nothing twice") {
  World world;
  world.hub.add_fault({.where = Where::cdn, .path = "runtime.tar.zst", .times = 0, .status = 500});
  const auto first = world.fetch();
  INFO(first);
  CHECK(first.code == 4);
  world.hub.clear_faults();
  world.hub.clear_log();
  const auto second = world.fetch();
  INFO(second);
  CHECK(second.code == 0);
  CHECK(world.bytes_from_cdn() <= world.release.bytes_of("runtime").size() + 1);
  world.hub.clear_log();
  CHECK(world.fetch().code == 0);
  CHECK(world.bytes_from_cdn() == 0);
}

TEST_CASE("a part that fetch left out is missing offline, and named") {
  World world;
  REQUIRE(world.fetch({"--skip", "media"}).code == 0);
  cut_network(world);
  const auto all = world.run(offline(world));
  INFO(all);
  CHECK(all.code == 3);
  CHECK(has(all, {"images_000", "--offline", "decant fetch"}));
  CHECK(tree_of(world.bundle()).empty());
  const auto subset = world.run(offline(world, {"--skip", "media"}));
  INFO(subset);
  CHECK(subset.code == 0);
}

TEST_CASE("several commits in the cache have to be told apart, none is not complete") {
  World world;
  const auto none = world.run(offline(world));
  INFO(none);
  CHECK(none.code == 3);
  CHECK(has(none, {"holds no lock", "decant fetch"}));

  REQUIRE(world.fetch().code == 0);
  const auto second =
      world.commit([](SmallRelease& release) { release.set_bytes("notes", "Other notes.\n"); });
  REQUIRE(world.fetch().code == 0);
  cut_network(world);
  const auto which = world.run(offline(world));
  INFO(which);
  CHECK(which.code == 2);
  CHECK(has(which, {"several commits", "--revision " + world.first_commit, "--revision " + second}));
  const auto ran = world.run(offline(world, {"--revision", second}));
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(read_file(world.bundle() + "/NOTES.md") == "Other notes.\n");
  const auto unknown =
      world.run({"restore", "org/release", "--release", "releases/r1", "--offline", "--revision", "v9",
                 "--download-cache", world.cache(), "--bundle", world.dir / "other"});
  CHECK(unknown.code == 3);
}

TEST_CASE("a lock that was copied to another node is a full starting point") {
  World world;
  REQUIRE(world.fetch().code == 0);
  REQUIRE(world.restore().code == 0);
  const auto other = world.dir / "other";
  stdfs::create_directories(other);
  stdfs::copy_file(world.bundle() + "/restore_lock.json", other + "/restore_lock.json");
  world.commit([](SmallRelease& release) { release.set_bytes("notes", "Other notes.\n"); });
  world.hub.clear_log();
  const auto ran = world.run({"restore", "--bundle", other, "--runtime-root", world.dir / "other_runtime"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(tree_of(other) == SmallRelease::bundle_tree());
  // No API call: the manifest and the parts are asked for at the locked commit.
  for (const auto& request : world.hub.requests())
    if (request.path.find("/revision/main") != std::string::npos) FAIL_CHECK(request.path);
}

TEST_CASE("with --offline without a cache that was filled") {
  World world;
  auto args = offline(world);
  SECTION("none") {
    args[6] = "none";
    const auto ran = world.run(args);
    INFO(ran);
    CHECK(ran.code == 2);
    CHECK(has(ran, {"--offline", "--download-cache DIR"}));
  }
  SECTION("loose files, fetched") {
    world.repo.add_commit({{"a.bin", random_bytes(1, 100'000)}, {"b/c.txt", "c"}});
    REQUIRE(world.run({"fetch", "org/release", "--download-cache", world.cache()}).code == 0);
    cut_network(world);
    const auto ran = world.run({"restore", "org/release", "--offline", "--download-cache", world.cache(),
                                "--bundle", world.bundle()});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(read_file(world.bundle() + "/b/c.txt") == "c");
    CHECK(world.requests() == 0);
  }
}

TEST_CASE("with --download-cache none keeps no download") {
  World world;
  const auto ran = world.restore({"--download-cache", "none"});
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(!exists(world.bundle() + "/.decant/cache"));
  for (const auto& entry : stdfs::recursive_directory_iterator{world.dir.path()})
    if (entry.is_regular_file() && !entry.is_symlink())
      CHECK(read_file(entry.path()) != world.release.bytes_of("data"));
  world.hub.clear_log();
  CHECK(world.restore({"--download-cache", "none"}).code == 0);
  CHECK(world.requests() == 0);
}

TEST_CASE("a damaged file in the cache is fetched again, or named offline") {
  World world;
  REQUIRE(world.fetch().code == 0);
  std::string damaged;
  for (const auto& entry : stdfs::recursive_directory_iterator{world.cache() + "/sha256"})
    if (entry.is_regular_file() && entry.file_size() == world.release.bytes_of("data").size())
      damaged = entry.path();
  REQUIRE(!damaged.empty());
  auto bytes = read_file(damaged);
  bytes[70'000] = static_cast<char>(bytes[70'000] ^ 1);
  stdfs::permissions(damaged, stdfs::perms{0644});
  write_file(damaged, bytes);
  SECTION("with a network") {
    const auto ran = world.restore({"--download-cache", world.cache()});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(has(ran.err, {"data", "damaged"}));
    CHECK(world.is_restored());
    CHECK(read_file(damaged) == world.release.bytes_of("data"));
  }
  SECTION("without") {
    cut_network(world);
    const auto ran = world.run(offline(world));
    INFO(ran);
    CHECK((ran.code == 3 || ran.code == 8));
    CHECK(has(ran, {"data"}));
    CHECK(tree_of(world.bundle()).empty());
  }
}

}  // namespace decant::test
