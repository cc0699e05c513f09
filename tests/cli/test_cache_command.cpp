// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <filesystem>

#include "cli_world.hpp"
#include "decant/fs/owner.hpp"
#include "decant/hash/hasher.hpp"
#include "program.hpp"
#include "support/catch.hpp"

// decant cache ls, verify, prune; a cache that others filled, and one that may only be read.
namespace decant::test {
namespace {

namespace stdfs = std::filesystem;

Ran cache(World& world, const std::string& command, const Args& more = {}) {
  Args args{"cache", command, "--download-cache", world.cache()};
  args.insert(args.end(), more.begin(), more.end());
  return world.run(args);
}

std::string final_of(World& world, const std::string& part) {
  const auto hex = hash::sha256(world.release.bytes_of(part)).hex();
  return world.cache() + "/sha256/" + hex.substr(0, 2) + "/" + hex;
}

void spoil(const std::string& path) {
  stdfs::permissions(path, stdfs::perms::owner_read | stdfs::perms::owner_write);
  auto bytes = read_file(path);
  bytes[bytes.size() / 2] ^= 1;
  write_file(path, bytes);
}

// What lies there when somebody copied it from elsewhere.
void copy_in(World& world, const std::string& part, const std::string& bytes) {
  stdfs::create_directories(stdfs::path{final_of(world, part)}.parent_path());
  write_file(final_of(world, part), bytes);
}

}  // namespace

TEST_CASE("cache ls lists objects, releases and what is foreign, and changes nothing") {
  World world;
  REQUIRE(world.fetch().code == 0);
  write_file(world.cache() + "/notes", "mine");
  world.forbid_writes();
  const auto listed = cache(world, "ls");
  INFO(listed);
  CHECK(listed.code == 0);
  CHECK(has(listed.out, {hash::sha256(world.release.bytes_of("data")).hex(), world.first_commit.substr(0, 12),
                         "notes", "not of this cache", "5 objects"}));
  const auto lines = json_lines(cache(world, "ls", {"--json"}).out);
  std::map<std::string, int> events;
  for (const auto& line : lines) ++events[line.at("event").get<std::string>()];
  CHECK(events["cache_object"] == 5);
  CHECK(events["cache_release"] == 1);
  CHECK(events["cache_foreign"] == 1);
  CHECK(lines.back().at("command") == "cache ls");
}

TEST_CASE("cache verify finds a damaged object, names it and leaves it") {
  World world;
  REQUIRE(world.fetch().code == 0);
  const auto good = cache(world, "verify");
  INFO(good);
  CHECK(good.code == 0);
  CHECK(has(good.out, {"5 objects verified, every byte hashed"}));
  const auto victim = final_of(world, "images_000");
  spoil(victim);
  world.forbid_writes();
  const auto bad = cache(world, "verify", {"--json", "--jobs", "1"});
  INFO(bad);
  CHECK(bad.code == 1);
  const auto lines = json_lines(bad.out);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].at("event") == "finding");
  CHECK(lines[0].at("path") == victim.substr(world.cache().size() + 1));
  CHECK(lines[0].at("expected") == stdfs::path{victim}.filename().string());
  CHECK(lines[1].at("trees").at("cache").at("hashed") == 5);
}

TEST_CASE("cache prune wants a choice") {
  World world;
  REQUIRE(world.fetch().code == 0);
  world.forbid_writes();
  for (const Args& args :
       {Args{}, Args{"--dry-run"}, Args{"--all", "--unreferenced"}, Args{"--older-than", "old"}}) {
    const auto ran = cache(world, "prune", args);
    INFO(ran);
    CHECK(ran.code == 2);
  }
}

TEST_CASE("cache prune removes what was chosen and says how much that is") {
  World world;
  REQUIRE(world.fetch().code == 0);
  const auto other = stdfs::path{world.cache()} / "sha256/ab" / ("ab" + std::string(62, '0'));
  stdfs::create_directories(other.parent_path());
  write_file(other.string(), std::string(1000, 'x'));
  write_file(world.cache() + "/notes", "mine");
  world.forbid_writes();
  const auto dry = cache(world, "prune", {"--unreferenced", "--dry-run"});
  INFO(dry);
  CHECK(dry.code == 0);
  CHECK(has(dry.out, {"would remove object", other.filename().string(), "1.0 kB"}));
  world.forbid_writes(false);
  const auto ran = cache(world, "prune", {"--unreferenced"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK_FALSE(exists(other.string()));
  CHECK(exists(final_of(world, "data")));
  CHECK(cache(world, "prune", {"--older-than", "30d"}).code == 0);
  CHECK(exists(final_of(world, "data")));
  const auto all = cache(world, "prune", {"--all", "--json"});
  CHECK(all.code == 0);
  CHECK_FALSE(exists(final_of(world, "data")));
  CHECK(read_file(world.cache() + "/notes") == "mine");
  const auto lines = json_lines(all.out);
  CHECK(lines.size() == 7);  // a release, five objects, the summary
  CHECK(lines[0].at("kind") == "release");
}

TEST_CASE("cache commands say when there is no cache") {
  World world;
  for (const std::string command : {"ls", "verify", "prune"}) {
    Args more;
    if (command == "prune") more = {"--all"};
    const auto ran = cache(world, command, more);
    INFO(ran);
    CHECK(ran.code == 2);
    CHECK(has(ran, {"there is no cache at"}));
  }
  CHECK(world.run({"cache", "ls"}).code == 2);
  CHECK(world.run({"cache"}).code == 2);
}

TEST_CASE("a whole file that was copied into the cache is hashed by fetch and not fetched again") {
  World world;
  copy_in(world, "data", world.release.bytes_of("data"));
  const auto ran = world.fetch();
  INFO(ran);
  CHECK(ran.code == 0);
  for (const auto& request : world.hub.requests())
    CHECK((request.where != Where::cdn || request.path.find("data.tar.zst") == std::string::npos));
  struct stat st {};
  REQUIRE(::stat(final_of(world, "data").c_str(), &st) == 0);
  CHECK((st.st_mode & 0777) == 0444);
}

TEST_CASE("a lock that is pruned while a fetch is at work is there again in the end") {
  World world;
  world.hub.add_fault({.where = Where::cdn, .path = "images_001", .cut_after = 10, .then = [&] {
                         stdfs::remove_all(world.cache() + "/releases");
                       }});
  const auto ran = world.fetch();
  INFO(ran);
  REQUIRE(ran.code == 0);
  auto args = world.release_args("restore");
  for (const auto& word : world.places()) args.push_back(word);
  args.insert(args.end(), {"--download-cache", world.cache(), "--offline"});
  const auto restored = world.run(args);
  INFO(restored);
  CHECK(restored.code == 0);
  CHECK(world.is_restored());
}

TEST_CASE("a wrong file that was copied into the cache is fetched instead") {
  World world;
  auto bytes = world.release.bytes_of("data");
  bytes[100] ^= 1;
  copy_in(world, "data", bytes);
  const auto ran = world.fetch();
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(has(ran.err, {"the file in the cache is another one"}));
  CHECK(read_file(final_of(world, "data")) == world.release.bytes_of("data"));
}

TEST_CASE("a cache that may only be read is restored from, and fetching into it is a clear error") {
  World world;
  REQUIRE(world.fetch({"--only", "data"}).code == 0);
  stdfs::create_directories(world.bundle());
  stdfs::create_directories(world.runtime());
  for (const auto& path : {world.dir.path(), world.bundle(), world.runtime()})
    REQUIRE(::chmod(path.c_str(), 0777) == 0);
  auto args = world.release_args("restore");
  for (const auto& word : world.places()) args.push_back(word);
  args.insert(args.end(), {"--download-cache", world.cache(), "--progress", "none"});
  auto whole = args;
  args.insert(args.end(), {"--only", "data"});
  const auto before = world.bytes_from_cdn();
  const auto restored = run_as_ordinary_user(world, args);
  INFO(restored);
  if (::geteuid() == 0) {  // else the cache is this user's own
    CHECK(restored.code == 0);
    CHECK(world.bytes_from_cdn() - before < world.release.bytes_of("data").size());
    const auto ran = run_as_ordinary_user(world, whole);
    INFO(ran);
    CHECK(ran.code == 6);
    CHECK(has(ran, {world.cache(), "ermission"}));
  }
}

}  // namespace decant::test
