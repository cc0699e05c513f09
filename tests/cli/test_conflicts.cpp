// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "cli_world.hpp"
#include "support/catch.hpp"

// What is there already: identical content is adopted, anything else is a conflict that is listed, and then
// nothing is visible.
namespace decant::test {
namespace {

namespace stdfs = std::filesystem;

struct InTheWay {
  std::string name;
  std::string path;  // what the message must name
  std::function<void(World&)> make;
  std::function<void(World&)> fix;
};

// What the user put there, to be found unchanged.
Tree before_of(const World& world) {
  auto tree = tree_of(world.bundle());
  for (const auto& [path, content] : tree_of(world.runtime())) tree["runtime/" + path] = content;
  return tree;
}

}  // namespace

TEST_CASE("something else in the way stops the publish of all parts, fixed, nothing is fetched again") {
  const auto remove = [](std::string path) {
    return [path](World& world) { stdfs::remove_all(world.dir / path); };
  };
  const auto file = [](std::string path, std::string content) {
    return [path, content](World& world) { write_file(world.dir / path, content); };
  };
  const std::string other(15, 'x');  // as long as sft.py
  const std::vector<InTheWay> cases{
      {"other content of the same size, in the first part", "swift_src/swift/sft.py",
       file("bundle/swift_src/swift/sft.py", other), remove("bundle/swift_src/swift/sft.py")},
      {"other content of another size, in the first part", "swift_src/swift/sft.py",
       file("bundle/swift_src/swift/sft.py", "mine"), remove("bundle/swift_src/swift/sft.py")},
      {"only in the last part, of the same size", "NOTES.md", file("bundle/NOTES.md", std::string(22, 'y')),
       remove("bundle/NOTES.md")},
      {"only in the last archive, in another root", "qwen_env/lib/torch.so",
       file("runtime/qwen_env/lib/torch.so", "mine"), remove("runtime/qwen_env/lib/torch.so")},
      {"the executable bit", "portable/launch.sh",
       file("bundle/portable/launch.sh", SmallRelease::bundle_tree()["portable/launch.sh"].substr(0, 29)),
       [](World& world) { ::chmod((world.bundle() + "/portable/launch.sh").c_str(), 0755); }},
      {"a symbolic link where the release has a directory", "swift_src",
       [](World& world) {
         stdfs::create_directories(world.dir / "elsewhere");
         stdfs::create_directories(world.bundle());
         stdfs::create_directory_symlink(world.dir / "elsewhere", world.bundle() + "/swift_src");
       },
       remove("bundle/swift_src")},
      {"a file where the release has a directory", "media/sft", file("bundle/media/sft", "mine"),
       remove("bundle/media/sft")},
      {"a directory where the release has a file", "input_snapshot/rows.parquet",
       file("bundle/input_snapshot/rows.parquet/mine.txt", "mine"),
       remove("bundle/input_snapshot/rows.parquet")},
      {"a link to another place", "portable/code",
       [](World& world) {
         stdfs::create_directories(world.bundle() + "/portable");
         stdfs::create_symlink("/tmp", world.bundle() + "/portable/code");
       },
       remove("bundle/portable/code")},
      {"a file where the release has a link", "qwen_env/bin/python",
       file("runtime/qwen_env/bin/python", "mine"), remove("runtime/qwen_env/bin/python")},
  };
  for (const auto& one : cases) {
    DYNAMIC_SECTION(one.name) {
      World world;
      one.make(world);
      const auto mine = before_of(world);
      const auto ran = world.restore();
      INFO(ran);
      CHECK(ran.code == 7);
      CHECK(has(ran, {one.path, "next:", "nothing was published", "1 path"}));
      CHECK(before_of(world) == mine);
      CHECK(!exists(world.dir / "elsewhere/swift"));

      one.fix(world);
      world.hub.clear_log();
      const auto again = world.restore();
      INFO(again);
      CHECK(again.code == 0);
      CHECK(world.is_restored());
      CHECK(world.bytes_from_cdn() == 0);
    }
  }
}

TEST_CASE("all conflicts are listed, of all parts") {
  World world;
  const std::vector<std::string> paths{"swift_src/swift/sft.py", "media/sft/images/0_1.jpg",
                                       "media/sft/images/1_2.jpg", "portable/launch.sh"};
  for (const auto& path : paths) write_file(world.bundle() + "/" + path, "mine");
  write_file(world.runtime() + "/qwen_env/pyvenv.cfg", "mine");
  const auto ran = world.restore({"--json"});
  INFO(ran);
  CHECK(ran.code == 7);
  std::set<std::string> told;
  for (const auto& line : json_lines(ran.out))
    if (line["event"] == "conflict") told.insert(line["path"]);
  CHECK(told == std::set<std::string>{"swift_src/swift/sft.py", "media/sft/images/0_1.jpg",
                                      "media/sft/images/1_2.jpg", "portable/launch.sh",
                                      "qwen_env/pyvenv.cfg"});
}

TEST_CASE("a conflict that is known beforehand stops the run before anything is fetched or written") {
  World world;
  write_file(world.bundle() + "/NOTES.md", "my own notes");
  world.forbid_writes();
  for (const auto* command : {"plan", "restore"}) {
    const auto ran = command == std::string{"plan"} ? world.plan() : world.restore();
    INFO(ran);
    CHECK(ran.code == 7);
    CHECK(has(ran, {"NOTES.md", "22 bytes", "12 bytes"}));
  }
  CHECK(world.bytes_from_cdn() <= 2);  // a probe each
  world.forbid_writes(false);
  stdfs::remove(world.bundle() + "/NOTES.md");
  CHECK(world.restore().code == 0);
}

TEST_CASE("identical content that is there already is adopted, not written again") {
  World world;
  const auto tree = SmallRelease::bundle_tree();
  write_file(world.bundle() + "/input_snapshot/rows.parquet", tree.at("input_snapshot/rows.parquet"));
  write_file(world.bundle() + "/NOTES.md", tree.at("NOTES.md"));
  const auto rows = stamps_of(world.bundle()).at("input_snapshot/rows.parquet");
  const auto ran = world.restore({"--json"});
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(stamps_of(world.bundle()).at("input_snapshot/rows.parquet") == rows);
  const auto summary = json_lines(ran.out).back();
  CHECK(summary["counts"]["entries_adopted"] >= 2);

  world.hub.clear_log();
  const auto again = world.restore();
  CHECK(again.code == 0);
  CHECK(world.requests() == 0);
}

TEST_CASE("a whole tree without its records is adopted by a new restore") {
  World world;
  REQUIRE(world.restore().code == 0);
  stdfs::remove_all(world.bundle() + "/.decant");
  stdfs::remove(world.bundle() + "/restore_lock.json");
  const auto before = stamps_of(world.bundle() + "/media");
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(stamps_of(world.bundle() + "/media").at("sft/images/0_0.jpg") == before.at("sft/images/0_0.jpg"));
}

}  // namespace decant::test
