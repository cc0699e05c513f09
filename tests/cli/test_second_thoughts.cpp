// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <filesystem>

#include "cli_world.hpp"
#include "decant/hash/hasher.hpp"
#include "support/catch.hpp"

// Runs that differ a little from the run before: another name of a place, another choice, another source,
// lost state.
namespace decant::test {
namespace {

namespace stdfs = std::filesystem;

std::string directory_release(World& world, const std::string& name,
                              const std::function<void(SmallRelease&)>& edit = {}) {
  SmallRelease release;
  if (edit) edit(release);
  const auto path = world.dir / name;
  release.write_to(path);
  return path;
}

Args from_directory(const World& world, const std::string& directory,
                    const std::string& command = "restore") {
  return {command,    "dir:" + directory, "--release",      "releases/r1",
          "--bundle", world.bundle(),     "--runtime-root", world.runtime()};
}

}  // namespace

TEST_CASE("a root given by another name of its place is the same root") {
  World world;
  REQUIRE(world.restore().code == 0);
  stdfs::create_directory_symlink(world.runtime(), world.dir / "alias");
  world.forbid_writes();
  const auto ran = world.run({"restore", "org/release", "--release", "releases/r1", "--bundle",
                              world.bundle(), "--runtime-root", world.dir / "alias"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(has(ran.out, {"unchanged since"}));
}

TEST_CASE("an offline restore that has a lock but no manifest takes it from the cache") {
  World world;
  REQUIRE(world.fetch().code == 0);
  const Args line{"restore",      "org/release",      "--release",    "releases/r1",
                  "--offline",    "--download-cache", world.cache(),  "--bundle",
                  world.bundle(), "--runtime-root",   world.runtime()};
  REQUIRE(world.run(line).code == 0);
  stdfs::remove_all(world.bundle() + "/.decant");
  world.hub.refuse(Where::hub);
  const auto ran = world.run(line);
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.is_restored());
}

TEST_CASE("a glob that fits nothing, and a choice of nothing, are slips") {
  World world;
  for (const Args& words :
       {Args{"--only", "nosuch/**"}, Args{"--skip", "**"}, Args{"--only", "data", "--skip", "data"}}) {
    const auto ran = world.restore(words);
    INFO(ran);
    CHECK(ran.code == 2);
    CHECK(tree_of(world.bundle()).empty());
  }
  REQUIRE(world.restore().code == 0);
  CHECK(world.restore({"--only", "nosuch/**"}).code == 2);
}

TEST_CASE("a conflict that is left out no longer stops the rest") {
  World world;
  write_file(world.bundle() + "/NOTES.md", "mine");
  write_file(world.bundle() + "/swift_src/swift/sft.py", "mine");
  REQUIRE(world.restore().code == 7);
  const auto ran = world.restore({"--skip", "./NOTES.md", "--skip", "swift_src/swift/sft.py"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(read_file(world.bundle() + "/swift_src/swift/sft.py") == "mine");
  CHECK(exists(world.bundle() + "/portable/launch.sh"));
}

TEST_CASE("a narrower choice after an interruption publishes just that, and keeps what others have staged") {
  World world;
  world.hub.add_fault({.where = Where::cdn, .path = "runtime.tar.zst", .times = 0, .status = 500});
  REQUIRE(world.restore({"--download-cache", "none"}).code == 4);  // the other parts are staged
  const auto before = world.bytes_from_cdn();
  const auto ran = world.restore({"--download-cache", "none", "--only", "notes"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(tree_of(world.bundle()).size() == 1);
  world.hub.clear_faults();
  const auto rest = world.restore({"--download-cache", "none"});
  INFO(rest);
  CHECK(rest.code == 0);
  CHECK(world.is_restored());
  CHECK(world.bytes_from_cdn() - before <=
        world.release.bytes_of("runtime").size() + 1);  // and the access probe
}

TEST_CASE("an edited file of one part stops the publish of another") {
  World world;
  REQUIRE(world.restore({"--only", "data"}).code == 0);
  write_file(world.bundle() + "/swift_src/swift/sft.py", "edited");
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 7);
  CHECK(has(ran, {"swift_src/swift/sft.py"}));
  CHECK(!exists(world.bundle() + "/NOTES.md"));
}

TEST_CASE("a directory that holds another release than the lock is refused") {
  World world;
  const auto first = directory_release(world, "first");
  REQUIRE(world.run(from_directory(world, first)).code == 0);
  const auto other =
      directory_release(world, "other", [](SmallRelease& r) { r.manifest["release"]["id"] = "r2"; });
  for (const std::string command : {"restore", "plan"}) {
    const auto ran = world.run(from_directory(world, other, command));
    INFO(ran);
    CHECK(ran.code == 10);
    CHECK(has(ran.err, {"expected", "found", "next"}));
  }
  CHECK(world.run(from_directory(world, world.dir / "nowhere")).code == 5);
  CHECK(world.run(from_directory(world, first)).code == 0);
}

TEST_CASE("a manifest that was lost from the state comes back") {
  World world;
  REQUIRE(world.restore().code == 0);
  stdfs::remove(world.bundle() + "/.decant/release/release_manifest.json");
  CHECK(world.verify().code == 10);
  REQUIRE(world.restore().code == 0);
  CHECK(world.verify({"--base-model", world.model()}).code != 10);
}

TEST_CASE("a part that conflicts while it is staged anew is still verified whole") {
  World world;
  REQUIRE(world.restore().code == 0);
  stdfs::remove_all(world.bundle() + "/portable");
  write_file(world.bundle() + "/portable", "mine");
  REQUIRE(world.restore({"--reextract"}).code == 7);
  write_file(world.bundle() + "/swift_src/swift/sft.py", "damaged by hand");
  const auto ran = world.verify({"--hash-media", "--skip", "base-model"});
  INFO(ran);
  CHECK(ran.code == 1);
  CHECK(has(ran.out, {"swift_src/swift/sft.py"}));
}

TEST_CASE("two roots of which one lies in the other are compared before anything is published") {
  World world;
  const auto commit = world.commit([](SmallRelease& release) {
    release.files["a.txt"] = "content A";
    release.files["b.txt"] = "content B";
    release.manifest["parts"] = nlohmann::ordered_json::array();
    for (const auto& [name, root, as] :
         {std::array<std::string, 3>{"a", "bundle", "q/y"}, {"b", "runtime", "y"}}) {
      const auto& bytes = release.files[name + ".txt"];
      release.manifest["parts"].push_back({{"name", name},
                                           {"path", name + ".txt"},
                                           {"size", bytes.size()},
                                           {"sha256", hash::sha256(bytes).hex()},
                                           {"place", {{"root", root}, {"as", as}}}});
    }
    release.manifest.erase("trees");
  });
  const auto ran = world.run({"restore", "org/release", "--release", "releases/r1", "--revision", commit,
                              "--bundle", world.bundle(), "--runtime-root", world.bundle() + "/q"});
  INFO(ran);
  CHECK(ran.code == 7);
  CHECK(!exists(world.bundle() + "/q/y"));
}

TEST_CASE("a copied bundle is hashed once, and then known by its new stamps") {
  World world;
  REQUIRE(world.restore().code == 0);
  stdfs::copy(world.bundle(), world.dir / "copy",
              stdfs::copy_options::recursive | stdfs::copy_options::copy_symlinks);
  const Args line{"restore", "--bundle", world.dir / "copy"};
  CHECK(world.run(line).code == 0);
  world.forbid_writes();
  CHECK(world.run(line).code == 0);
  const auto status = world.run({"status", "--bundle", world.dir / "copy"});
  INFO(status);
  CHECK(!has(status.out, {"changed since"}));
}

}  // namespace decant::test
