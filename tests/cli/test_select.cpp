// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "cli_world.hpp"
#include "support/catch.hpp"

// --only and --skip, and what restore pins and shows.
namespace decant::test {
namespace {

std::set<std::string> names(const Tree& tree) {
  std::set<std::string> out;
  for (const auto& [path, content] : tree)
    if (content != "DIR") out.insert(path);
  return out;
}

// What other processes change between two plans: free space and available memory, and the widths that follow.
std::string without_free_space(const std::string& plan) {
  std::string text = std::regex_replace(plan, std::regex{" +"}, " ");
  text = std::regex_replace(text, std::regex{"[0-9.]+ [kMGTPE]?B (yes|as far as known) "}, "FREE $1 ");
  return std::regex_replace(text, std::regex{", [0-9.]+ [kMGTPE]?B available"}, ", SOME available");
}

std::string part_fetched(const TestHub& hub) {
  std::set<std::string> files;
  for (const auto& request : hub.requests())
    if (request.where == Where::cdn && request.method == "GET")
      files.insert(request.file.substr(request.file.rfind('/') + 1));
  std::string all;
  for (const auto& file : files) all += file + " ";
  return all;
}

}  // namespace

TEST_CASE("words choose parts, and only those are fetched") {
  struct Choice {
    Args words;
    std::string fetched;
    std::string there;
    std::string not_there;
  };
  const std::vector<Choice> cases{
      {{"--only", "media"}, "images_000.tar.zst images_001.tar.zst ", "media/sft/images/0_0.jpg", "NOTES.md"},
      {{"--only", "images_001"},
       "images_001.tar.zst ",
       "media/sft/images/1_0.jpg",
       "media/sft/images/0_0.jpg"},
      {{"--skip", "media", "--skip", "runtime"}, "data.tar.zst ", "swift_src/swift/sft.py", "media"},
      {{"--only", "swift-source"}, "data.tar.zst ", "swift_src/swift/sft.py", "input_snapshot"},
      {{"--only", "media", "--skip", "images_000"},
       "images_001.tar.zst ",
       "media/sft/images/1_1.jpg",
       "media/sft/images/0_1.jpg"},
      {{"--only", "media/sft/images/0_*.jpg"},
       "data.tar.zst images_000.tar.zst images_001.tar.zst runtime.tar.zst ",
       "media/sft/images/0_2.jpg",
       "media/sft/images/1_2.jpg"},
      {{"--only", "swift_src/**"}, "data.tar.zst runtime.tar.zst ", "swift_src/swift/sft.py", "portable"},
  };
  for (const auto& one : cases) {
    DYNAMIC_SECTION(one.words.back()) {
      World world;
      const auto ran = world.restore(one.words);
      INFO(ran);
      REQUIRE(ran.code == 0);
      CHECK(has(ran.out, {"ubset"}));
      CHECK(part_fetched(world.hub) == one.fetched);
      CHECK(exists(world.bundle() + "/" + one.there));
      CHECK(!exists(world.bundle() + "/" + one.not_there));

      // verify uses the choice and says so.
      const auto proof = world.verify({"--hash-media"});
      INFO(proof);
      CHECK(proof.code == 0);
      CHECK(has(proof.out, {"subset"}));

      world.hub.clear_log();
      CHECK(world.restore(one.words).code == 0);
      CHECK(world.requests() == 0);

      // Without words everything is wanted; what is there is kept.
      const auto all = world.restore();
      INFO(all);
      CHECK(all.code == 0);
      CHECK(world.is_restored());
      const auto proof_of_all = world.verify({"--hash-media"});
      CHECK(proof_of_all.code == 0);
      CHECK(!has(proof_of_all.out, {"subset"}));
    }
  }
}

TEST_CASE("a glob inside an archive can be widened later without fetching the archive again") {
  World world;
  REQUIRE(world.restore({"--only", "swift_src/**"}).code == 0);
  CHECK(names(tree_of(world.bundle())) ==
        std::set<std::string>{"swift_src/swift/__init__.py", "swift_src/swift/sft.py"});
  world.hub.clear_log();
  const auto ran =
      world.restore({"--only", "swift_src/**", "--only", "portable/**", "--only", "input_snapshot/**"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(names(tree_of(world.bundle())) ==
        std::set<std::string>{"swift_src/swift/__init__.py", "swift_src/swift/sft.py", "portable/code",
                              "portable/launch.sh", "portable/rows.parquet", "input_snapshot/rows.parquet"});
  CHECK(world.bytes_from_cdn() == 0);
}

TEST_CASE("a narrower choice leaves what is there alone, and verify follows it") {
  World world;
  REQUIRE(world.restore().code == 0);
  REQUIRE(world.restore({"--only", "media"}).code == 0);
  CHECK(world.is_restored());
  std::filesystem::remove(world.bundle() + "/swift_src/swift/sft.py");
  CHECK(world.restore({"--only", "media"}).code == 0);
  CHECK(world.restore().code == 3);
}

TEST_CASE("skipping a root's parts needs no place for that root") {
  World world;
  const auto ran = world.run({"restore", "org/release", "--release", "releases/r1", "--bundle",
                              world.bundle(), "--skip", "runtime"});
  INFO(ran);
  CHECK(ran.code == 0);
}

TEST_CASE("restore resolves a name once, says the commit and pins it") {
  World world;
  world.repo.move_ref("v1", world.first_commit);
  const auto ran = world.restore({"--revision", "v1"});
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(has(ran, {world.first_commit}));
  CHECK(has(read_file(world.bundle() + "/restore_lock.json"), {world.first_commit, "\"v1\""}));
}

TEST_CASE("plan tells everything, writes nothing, and its last line restores just that") {
  World world;
  world.forbid_writes();
  world.env.erase("HOME");
  const auto plan = world.plan({"--only", "media"});
  INFO(plan);
  REQUIRE(plan.code == 0);
  CHECK(has(plan.out, {"releases/r1/media/images_000.tar.zst", "missing", "granted", world.first_commit}));
  // One request per 500 parts, never one per file: manifest, repo, paths, probe.
  CHECK(world.hub.counters().requests_hub <= 6);
  CHECK(world.bytes_from_cdn() <= 1);

  const auto text = plan.out.substr(0, plan.out.find_last_not_of('\n') + 1);
  const auto last = text.substr(text.rfind('\n') + 1);
  const auto begin = last.find("decant restore ");
  REQUIRE(begin != std::string::npos);
  Args args;
  std::istringstream words{last.substr(begin + 7)};
  for (std::string word; words >> word;) args.push_back(word);
  CHECK(std::ranges::find(args, world.first_commit) != args.end());
  world.commit([](SmallRelease& release) { release.set_bytes("notes", "Other notes.\n"); });
  world.forbid_writes(false);
  const auto ran = world.run(args);
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(exists(world.bundle() + "/media/sft/images/0_0.jpg"));
  CHECK(!exists(world.bundle() + "/NOTES.md"));
}

TEST_CASE("plan and restore --plan-only are the same, in every state") {
  World world;
  const auto both = [&] {
    world.forbid_writes();
    const auto plan = world.plan();
    const auto plan_only = world.restore({"--plan-only"});
    const auto dry = world.restore({"--dry-run"});
    world.forbid_writes(false);
    CHECK(without_free_space(plan.out) == without_free_space(plan_only.out));
    CHECK(without_free_space(plan.out) == without_free_space(dry.out));
    CHECK(plan.code == plan_only.code);
    return plan;
  };
  const auto fresh = both();
  CHECK(has(fresh.out, {"missing"}));
  CHECK(has(without_free_space(fresh.out), {" FREE as far as known", ", SOME available"}));
  world.hub.add_fault({.where = Where::cdn, .path = "runtime.tar.zst", .times = 0, .status = 500});
  CHECK(world.restore().code == 4);
  world.hub.clear_faults();
  const auto part_way = both();
  INFO(part_way);
  CHECK(part_way.code == 0);
  CHECK(has(part_way.out, {"staged"}));
  CHECK(world.restore().code == 0);
  CHECK(has(both().out, {"published"}));
}

TEST_CASE("status tells what is there, offline") {
  World world;
  world.hub.add_fault({.where = Where::cdn, .path = "runtime.tar.zst", .times = 0, .status = 500});
  CHECK(world.restore().code == 4);
  world.hub.clear_log();
  const auto part_way = world.status();
  INFO(part_way);
  CHECK(part_way.code == 3);
  CHECK(has(part_way.out, {"staged", "0 of 5 parts are published", world.first_commit}));
  world.hub.clear_faults();
  REQUIRE(world.restore().code == 0);
  world.hub.clear_log();
  world.forbid_writes();
  const auto done = world.status();
  INFO(done);
  CHECK(done.code == 0);
  CHECK(has(done.out, {"5 of 5 parts are published"}));
  CHECK(world.requests() == 0);
}

TEST_CASE("status does not call a changed part unchanged, and says what to do") {
  World world;
  REQUIRE(world.restore().code == 0);
  write_file(world.bundle() + "/NOTES.md", "x");
  world.forbid_writes();
  const auto told = world.status();
  INFO(told);
  CHECK(told.code == 3);
  CHECK(has(told.out, {"1 entry changed since, run decant verify", "4 of 5 parts are published"}));
  const auto summary = json_lines(world.status({"--json"}).out).back();
  CHECK(summary["counts"]["parts_unchanged"] == 4);
  CHECK(summary["counts"]["parts_pending"] == 1);
}

TEST_CASE("a selection that leaves nothing is not verified, and is exit 2") {
  World world;
  REQUIRE(world.restore().code == 0);
  world.forbid_writes();
  for (const Args& words : {Args{"--skip", "**", "--skip", "base-model"},
                            Args{"--skip", "data", "--skip", "media", "--skip", "runtime", "--skip", "notes",
                                 "--skip", "base-model"}}) {
    DYNAMIC_SECTION(words[1]) {
      const auto ran = world.run([&] {
        Args args{"verify", "--bundle", world.bundle(), "--hash-media"};
        args.insert(args.end(), words.begin(), words.end());
        return args;
      }());
      INFO(ran);
      CHECK(ran.code == 2);
      CHECK(has(ran.out, {"nothing was verified"}));
      CHECK(has(ran.err, {"leaves nothing to verify", "next:"}));
      CHECK(!has(ran.out, {"every byte hashed"}));
      CHECK(!has(ran.out, {"full:"}));
    }
  }
}

TEST_CASE("a glob of verify --skip that matches nothing is warned of, and only that") {
  World world;
  REQUIRE(world.restore().code == 0);
  for (const std::string glob : {"nowhere/**", "*.nothing"}) {
    const auto ran = world.verify({"--skip", glob});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(has(ran.err, {glob, "no path of the release matches"}));
  }
  for (const std::string glob : {"media/**", "NOTES.*", "swift_src/swift/*.py", "runtime/**"}) {
    const auto ran = world.verify({"--skip", glob});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(!has(ran.err, {"matches"}));
  }
}

TEST_CASE("a published part whose index is damaged stays a finding while another is not published") {
  World world;
  REQUIRE(world.restore({"--only", "media"}).code == 0);
  world.hub.add_fault({.where = Where::cdn, .path = "runtime.tar.zst", .times = 0, .status = 500});
  CHECK(world.restore().code == 4);
  for (const auto& entry : std::filesystem::recursive_directory_iterator{world.bundle() + "/.decant/release"})
    if (entry.path().filename().string().find("images_000") != std::string::npos)
      write_file(entry.path(), "damaged");
  const auto ran = world.verify();
  INFO(ran);
  CHECK(ran.code == 1);
  CHECK(has(ran.out, {"unverifiable", "images_000"}));
  CHECK(has(ran.err, {"3 of 5 parts are not published"}));
}

}  // namespace decant::test
