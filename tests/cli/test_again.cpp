// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "cli_world.hpp"
#include "support/catch.hpp"

// Running the same line again: what is there, moved, copied, deleted or changed.
namespace decant::test {
namespace {

namespace stdfs = std::filesystem;

void copy_all(const std::string& from, const std::string& to) {
  REQUIRE(std::system(("cp -a '" + from + "' '" + to + "'").c_str()) == 0);
}

}  // namespace

TEST_CASE("when all is there, no form of the line asks or writes anything") {
  World world;
  REQUIRE(world.restore().code == 0);
  world.hub.refuse(Where::hub);
  world.hub.refuse(Where::cdn);
  world.forbid_writes();
  const auto check = [&](const Ran& ran) {
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(has(ran.out, {"unchanged since"}));
  };
  check(world.restore());
  check(world.restore_again());
  check(world.restore({"--revision", "main"}));
  check(world.restore({"--revision", world.first_commit}));
  check(world.run({"restore", "hf://datasets/org/release@main/releases/r1", "--bundle", world.bundle()}));
  check(world.restore({"--offline"}));
  check(world.restore({"--reextract"}));
  world.env["DECANT_BUNDLE"] = world.bundle();
  check(world.run({"restore"}));
  const auto plan = world.run({"plan"});
  INFO(plan);
  CHECK(plan.code == 0);
  CHECK(has(plan.out, {"Nothing to do", world.first_commit}));
  CHECK(world.status().code == 0);
}

TEST_CASE("the requested name stays pinned when it moves on the hub") {
  World world;
  REQUIRE(world.restore({"--revision", "main"}).code == 0);
  world.commit([](SmallRelease& release) { release.set_bytes("notes", "Other notes.\n"); });
  world.hub.clear_log();
  CHECK(world.restore({"--revision", "main"}).code == 0);
  CHECK(world.restore().code == 0);
  CHECK(world.requests() == 0);
  CHECK(world.is_restored());
}

TEST_CASE("a moved bundle is the same bundle") {
  World world;
  REQUIRE(world.restore().code == 0);
  const auto moved = world.dir / "moved/deep/bundle";
  stdfs::create_directories(world.dir / "moved/deep");
  stdfs::rename(world.bundle(), moved);
  world.hub.clear_log();
  world.forbid_writes();
  const auto ran = world.run({"restore", "--bundle", moved});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.requests() == 0);
  const auto proof = world.run({"verify", "--bundle", moved, "--base-model", world.model(), "--hash-media"});
  INFO(proof);
  CHECK(proof.code == 0);
}

TEST_CASE("a copied bundle is proven by content, not fetched") {
  World world;
  REQUIRE(world.restore().code == 0);
  const auto copy = world.dir / "copy";
  copy_all(world.bundle(), copy);
  const auto again = [&](bool with_records) {
    world.hub.clear_log();
    auto args = world.release_args("restore");
    args.insert(args.end(), {"--bundle", copy, "--runtime-root", world.runtime()});
    const auto before = stamps_of(copy + "/media");
    const auto ran = world.run(args);
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(tree_of(copy) == SmallRelease::bundle_tree());
    CHECK(stamps_of(copy + "/media").at("sft/images/0_0.jpg") == before.at("sft/images/0_0.jpg"));
    if (with_records) CHECK(world.bytes_from_cdn() == 0);
    const auto proof = world.run({"verify", "--bundle", copy, "--base-model", world.model(), "--hash-media"});
    CHECK(proof.code == 0);
  };
  SECTION("with its records") {
    again(true);
  }
  SECTION("without its records") {
    stdfs::remove_all(copy + "/.decant");
    stdfs::remove(copy + "/restore_lock.json");
    again(false);
  }
  SECTION("without .decant, with the lock: a full starting point") {
    stdfs::remove_all(copy + "/.decant");
    world.commit([](SmallRelease& release) { release.set_bytes("notes", "Other notes.\n"); });
    again(false);
  }
}

TEST_CASE("a wiped root is restored") {
  World world;
  REQUIRE(world.restore().code == 0);
  SECTION("with its directory") {
    stdfs::remove_all(world.runtime());
  }
  SECTION("but for its directory") {
    stdfs::remove_all(world.runtime() + "/qwen_env");
  }
  const auto bundle = stamps_of(world.bundle() + "/media");
  world.hub.clear_log();
  CHECK(world.plan().code == 0);
  const auto ran = world.restore_again();
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(world.bytes_from_cdn() == 0);  // the part is still in the cache
  CHECK(stamps_of(world.bundle() + "/media") == bundle);
  world.hub.clear_log();
  world.forbid_writes();
  CHECK(world.restore_again().code == 0);
  CHECK(world.requests() == 0);
}

TEST_CASE("some deleted entries are told, and put back only when that is asked for") {
  struct Deleted {
    std::string name;
    std::vector<std::string> paths;
    std::string told;
  };
  const std::vector<Deleted> cases{
      {"a file", {"bundle/swift_src/swift/sft.py"}, "swift_src/swift/sft.py"},
      {"a link", {"bundle/portable/code"}, "portable/code"},
      {"a directory with all in it", {"bundle/portable"}, "portable"},
      {"of two parts", {"bundle/media/sft/images/0_1.jpg", "runtime/qwen_env/pyvenv.cfg"}, "0_1.jpg"},
  };
  for (const auto& one : cases) {
    DYNAMIC_SECTION(one.name) {
      World world;
      REQUIRE(world.restore().code == 0);
      for (const auto& path : one.paths) stdfs::remove_all(world.dir / path);
      const auto kept = stamps_of(world.bundle() + "/input_snapshot");
      world.hub.clear_log();
      world.forbid_writes();
      const auto told = world.restore();
      INFO(told);
      CHECK(told.code == 3);
      CHECK(has(told, {one.told, "gone", "--reextract"}));
      CHECK(world.plan().code == 3);
      CHECK(world.status().code == 3);
      world.forbid_writes(false);

      const auto put_back = world.restore({"--reextract"});
      INFO(put_back);
      CHECK(put_back.code == 0);
      CHECK(world.is_restored());
      CHECK(world.bytes_from_cdn() == 0);
      CHECK(stamps_of(world.bundle() + "/input_snapshot").at("rows.parquet") == kept.at("rows.parquet"));
      CHECK(world.status().code == 0);
    }
  }
}

TEST_CASE("what a run says it wrote is what it wrote") {
  World world;
  const auto first = world.restore();
  CHECK(first.code == 0);
  CHECK(has(first.out, {" entries restored"}));
  stdfs::remove(world.bundle() + "/media/sft/images/0_0.jpg");
  const auto again = world.restore({"--reextract"});
  INFO(again);
  CHECK(again.code == 0);
  CHECK(has(again.out, {"5 entries in place, 1 of them written by this run"}));
}

TEST_CASE("a part that is gone as a whole is restored without being asked twice") {
  World world;
  REQUIRE(world.restore().code == 0);
  stdfs::remove(world.bundle() + "/NOTES.md");
  for (const auto* path : {"/input_snapshot", "/swift_src", "/portable"})
    stdfs::remove_all(world.bundle() + path);
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.is_restored());
}

TEST_CASE("a changed file is exit 7 and stays as it is, a touched one is still the same") {
  World world;
  REQUIRE(world.restore().code == 0);
  const auto path = world.bundle() + "/swift_src/swift/sft.py";
  SECTION("other content") {
    write_file(path, "print('hacks')\n");
  }
  SECTION("longer") {
    write_file(path, "print('train')\nprint('more')\n");
  }
  SECTION("another type") {
    stdfs::remove(path);
    stdfs::create_directory(path);
  }
  SECTION("with --reextract, too") {
    write_file(path, "print('hacks')\n");
    world.forbid_writes();
    CHECK(world.restore({"--reextract"}).code == 7);
  }
  world.forbid_writes();
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 7);
  CHECK(has(ran, {"swift_src/swift/sft.py", "next:"}));
  CHECK(world.verify({"--hash-media"}).code == 1);
}

TEST_CASE("a file that was only touched is hashed and accepted") {
  World world;
  REQUIRE(world.restore().code == 0);
  const auto path = world.bundle() + "/swift_src/swift/sft.py";
  write_file(path, read_file(path));
  world.hub.clear_log();
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.requests() == 0);
}

TEST_CASE("damaged records are not trusted, and done again") {
  for (const std::string what : {"parts", "indexes", "roots.json", "release", "."}) {
    DYNAMIC_SECTION(what) {
      World world;
      REQUIRE(world.restore().code == 0);
      std::vector<stdfs::path> files;
      for (const auto& entry : stdfs::recursive_directory_iterator{world.bundle() + "/.decant"}) {
        const auto relative = entry.path().lexically_relative(world.bundle() + "/.decant").string();
        if (entry.is_regular_file() && !relative.starts_with("cache") &&
            (what == "." || relative.starts_with(what)))
          files.push_back(entry.path());
      }
      for (const auto& file : files) stdfs::resize_file(file, stdfs::file_size(file) / 2);
      const auto ran = world.restore();
      INFO(ran);
      CHECK(ran.code == 0);
      CHECK(world.is_restored());
      const auto proof = world.verify({"--hash-media"});
      INFO(proof);
      CHECK(proof.code == 0);
    }
  }
}

}  // namespace decant::test
