// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "cli_world.hpp"
#include "decant/state/bundle.hpp"
#include "support/catch.hpp"

// Commands that look at one state must not contradict one another.
namespace decant::test {
namespace {

namespace stdfs = std::filesystem;

// What the plan foretells is what the restore then runs into, and the plan after it says the same again.
void check_foretold(World& world, int code, const Args& more = {}) {
  world.forbid_writes();
  const auto plan = world.plan(more);
  world.forbid_writes(false);
  INFO(plan);
  CHECK(plan.code == code);
  const auto ran = world.restore(more);
  INFO(ran);
  CHECK(ran.code == code);
  CHECK(world.plan(more).code == code);
}

void close_media(World& world) {
  world.commit([](SmallRelease& release) {
    release.manifest["closed"] = nlohmann::ordered_json::array({{{"root", "bundle"}, {"under", "media"}}});
  });
}

}  // namespace

TEST_CASE("what a choice leaves out is no extra file, also where the release closes a directory") {
  World world;
  close_media(world);
  REQUIRE(world.restore().code == 0);
  for (const Args& skip : {Args{"--skip", "images_001"}, Args{"--skip", "media/sft/images/0_0.jpg"}}) {
    const auto ran = world.verify(skip);
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(!has(ran.out, {"extra ("}));
  }
  REQUIRE(world.restore({"--only", "images_000"}).code == 0);
  CHECK(world.verify().code == 0);
  write_file(world.bundle() + "/media/sft/images/stray.jpg", "x");
  const auto stray = world.verify({"--skip", "images_001"});
  INFO(stray);
  CHECK(stray.code == 1);
  CHECK(has(stray.out, {"stray.jpg", "closes this directory"}));
}

TEST_CASE("beside a part that was never restored and lists nothing, an extra file is only noted") {
  World world;
  close_media(world);
  REQUIRE(world.restore({"--only", "images_000"}).code == 0);
  write_file(world.bundle() + "/media/sft/images/1_0.jpg", "perhaps of images_001");
  const auto ran = world.verify();
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(has(ran.out, {"extra (1)"}));
}

TEST_CASE("status goes by the last choice, inside parts too") {
  World world;
  REQUIRE(world.restore({"--only", "swift_src/**", "--only", "input_snapshot/**"}).code == 0);
  stdfs::remove_all(world.bundle() + "/swift_src");
  CHECK(world.status().code == 3);
  REQUIRE(world.restore({"--only", "input_snapshot/**"}).code == 0);
  const auto status = world.status();
  INFO(status);
  CHECK(status.code == 0);
  CHECK(has(status.out, {"1 of 1 parts are published"}));
  CHECK(world.verify({"--skip", "base-model"}).code == 0);
}

TEST_CASE("plan sees what has taken the place of a restored directory") {
  World world;
  REQUIRE(world.restore().code == 0);
  stdfs::remove_all(world.bundle() + "/swift_src");
  SECTION("a file") {
    write_file(world.bundle() + "/swift_src", "other");
  }
  SECTION("a link") {
    stdfs::create_directory(world.dir / "elsewhere");
    stdfs::create_directory_symlink(world.dir / "elsewhere", world.bundle() + "/swift_src");
  }
  check_foretold(world, 7);
  check_foretold(world, 7, {"--reextract"});
}

TEST_CASE("plan sees a file where the release has a directory before anything is there") {
  World world;
  const auto directory = world.dir / "loose";
  write_file(directory + "/a/b/c.txt", "c");
  write_file(world.bundle() + "/a", "a file");
  const auto ran = world.run({"plan", "dir:" + directory, "--loose", "--bundle", world.bundle()});
  INFO(ran);
  CHECK(ran.code == 7);
  CHECK(has(ran.out, {"/a: expected directory, found file of 6 bytes"}));
}

TEST_CASE("plan says who works on the bundle, and what state it cannot write to") {
  World world;
  REQUIRE(world.restore().code == 0);
  stdfs::remove(world.bundle() + "/NOTES.md");
  const auto state = world.bundle() + "/.decant";
  SECTION("another process") {
    auto bundle = state::Bundle::open(world.bundle(), fs::Missing::is_error);
    REQUIRE(bundle.claim(nullptr) == state::Ownership::taken);
    const auto plan = world.plan();
    INFO(plan);
    CHECK(plan.code == 9);
    CHECK(has(plan.out, {"another process works on this bundle", "pid "}));
    CHECK(world.restore().code == 9);
  }
  SECTION("an owner that is a directory") {
    stdfs::create_directory(state + "/owner");
    check_foretold(world, 10);
  }
  SECTION("parts that lie elsewhere") {
    stdfs::rename(state + "/parts", world.dir / "parts");
    stdfs::create_directory_symlink(world.dir / "parts", state + "/parts");
    check_foretold(world, 7);
  }
}

TEST_CASE("parts of nested roots that contradict one another are known to the second plan") {
  World world;
  world.commit([](SmallRelease& release) {
    release.set_bytes("runtime", zstd_frame(TarBuilder{}.file("sft.py", "other").closed()));
  });
  const Args nested{"--root", "runtime=" + world.bundle() + "/swift_src/swift"};
  const Args line{"restore",  "org/release",  "--release", "releases/r1",
                  "--bundle", world.bundle(), nested[0],   nested[1]};
  const auto first = world.run(line);
  INFO(first);
  REQUIRE(first.code == 7);
  CHECK(has(first.out, {"tell the release's authors", "--skip"}));
  CHECK(!has(first.out, {"move"}));
  auto plan = line;
  plan[0] = "plan";
  const auto second = world.run(plan);
  INFO(second);
  CHECK(second.code == 7);
  CHECK(has(second.out, {"tell the release's authors"}));
  CHECK(world.run(line).code == 7);
}

TEST_CASE("a report replaces an earlier report, and nothing else") {
  World world;
  const auto report = world.dir / "report.json";
  REQUIRE(world.restore({"--report", report}).code == 0);
  REQUIRE(world.verify({"--report", report}).code == 0);
  CHECK(nlohmann::json::parse(read_file(report))["command"] == "verify");
  for (const auto& path : {world.bundle() + "/NOTES.md", world.bundle() + "/restore_lock.json"}) {
    const auto before = read_file(path);
    const auto ran = world.verify({"--report", path});
    INFO(ran);
    CHECK(ran.code == 2);
    CHECK(has(ran.err, {"--report " + path, "an earlier report", "next:"}));
    CHECK(read_file(path) == before);
  }
  write_file(report, "");
  CHECK(world.status({"--report", report}).code == 0);
  const auto pipe = world.dir / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const auto unread = world.status({"--report", pipe});
  INFO(unread);
  CHECK(unread.code == 6);
  CHECK(has(unread.err, {"nobody reads the pipe"}));
}

TEST_CASE("a glob that fits nothing is a slip to plan as to restore") {
  World world;
  const auto directory = world.dir / "loose";
  write_file(directory + "/a/b.txt", "c");
  for (const auto* command : {"plan", "restore"}) {
    const auto ran = world.run(
        {command, "dir:" + directory, "--loose", "--bundle", world.bundle(), "--only", "nosuch/**"});
    INFO(ran);
    CHECK(ran.code == 2);
  }
  REQUIRE(world.restore().code == 0);
  const auto verified = world.verify({"--skip", "nosuch/**"});
  INFO(verified);
  CHECK(verified.code == 0);
  CHECK(!has(verified.out, {"ubset"}));
}

TEST_CASE("a part is chosen alone by its name, whatever tree has the same") {
  World world;
  world.commit([](SmallRelease& release) {
    release.manifest["trees"].push_back({{"name", "data"}, {"root", "bundle"}, {"under", "media"}});
  });
  const auto ran = world.restore({"--only", "data"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(!exists(world.bundle() + "/media"));
  CHECK(exists(world.bundle() + "/input_snapshot/rows.parquet"));
}

TEST_CASE("what came before an interruption is counted") {
  World world;
  world.hub.add_fault({.where = Where::cdn, .path = "images_001", .stall_after = 50'000, .then = [&] {
                         world.stop->request(SIGINT);
                       }});
  const auto report = world.dir / "report.json";
  const auto ran = world.restore({"--connections", "1", "--report", report});
  INFO(ran);
  CHECK(ran.code == 130);
  CHECK(nlohmann::json::parse(read_file(report))["bytes"]["from_network"].get<std::uint64_t>() > 50'000);
}

TEST_CASE("verify says how to put right what restore can bring back, literally") {
  World world;
  REQUIRE(world.restore().code == 0);
  stdfs::remove(world.bundle() + "/NOTES.md");
  const auto gone = world.verify();
  INFO(gone);
  CHECK(has(gone.out, {"next:     run: decant restore --bundle " + world.bundle() + " --reextract"}));
  CHECK(world.run({"restore", "--bundle", world.bundle(), "--reextract"}).code == 0);
  write_file(world.bundle() + "/NOTES.md", "damaged");
  CHECK(has(world.verify().out, {"move away what is damaged", "--reextract"}));
  const auto conflict = world.restore();
  CHECK(conflict.code == 7);
  CHECK(has(conflict.out, {"move them away, then run the same line again with --reextract"}));
  stdfs::remove(world.bundle() + "/NOTES.md");
  CHECK(world.restore({"--reextract"}).code == 0);
  CHECK(world.verify().code == 0);
}

TEST_CASE("a lost executable bit is a change to all commands") {
  World world;
  REQUIRE(world.restore().code == 0);
  const auto tree = tree_of(world.bundle());
  for (const auto& [path, content] : tree) {
    if (!content.ends_with('*')) continue;
    ::chmod((world.bundle() + "/" + path).c_str(), 0644);
    break;
  }
  REQUIRE(tree_of(world.bundle()) != tree);
  CHECK(world.verify().code == 1);
  CHECK(world.status().code == 3);
  check_foretold(world, 7);
}

TEST_CASE("conflicts are told also when the directory that the rest came from is not named") {
  World world;
  SmallRelease release;
  const auto directory = world.dir / "copy";
  release.write_to(directory);
  REQUIRE(world
              .run({"restore", "dir:" + directory, "--release", "releases/r1", "--bundle", world.bundle(),
                    "--runtime-root", world.runtime()})
              .code == 0);
  stdfs::remove(world.bundle() + "/media/sft/images/0_0.jpg");
  write_file(world.bundle() + "/NOTES.md", "changed");
  const auto ran = world.restore_again({"--reextract"});
  INFO(ran);
  CHECK(ran.code == 7);
  CHECK(has(ran, {"NOTES.md"}));
}

}  // namespace decant::test
