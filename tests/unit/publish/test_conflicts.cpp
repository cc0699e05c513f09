// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "decant/hash/hasher.hpp"
#include "staged_part.hpp"

using namespace decant;
using namespace decant::publish;
using namespace decant::publish::test;

namespace {

struct Places {
  TempDir dir;
  fs::DirHandle root = fs::DirHandle::open(dir / "root", fs::Missing::create);
  TestPart part{"p", dir / "stage", root};
  std::string at(std::string_view path) const { return dir / ("root/" + std::string{path}); }
};

std::string sha(std::string_view content) {
  return hash::sha256(content).hex();
}

}  // namespace

TEST_CASE("what a root holds already is compared with the release") {
  Places to;
  to.part.dir("d").file("d/f", "hello").link("d/l", "f").file("d/x", "run", true).finish();
  struct Row {
    const char* name;
    std::function<void()> prepare;
    std::vector<std::string> conflicts;
  };
  const std::string file = "file of 5 bytes, SHA-256 " + sha("hello");
  const std::vector<Row> rows{
      {"an empty root", [] {}, {}},
      {"an empty directory", [&] { ::mkdir(to.at("d").c_str(), 0755); }, {}},
      {"the same file", [&] { write_file(to.at("d/f"), "hello"); }, {}},
      {"the same link",
       [&] {
         write_file(to.at("d/other"), "x");
         REQUIRE(::symlink("f", to.at("d/l").c_str()) == 0);
       },
       {}},
      {"another size",
       [&] { write_file(to.at("d/f"), "hi"); },
       {"p bundle d/f | " + file + " | file of 2 bytes"}},
      {"other content",
       [&] { write_file(to.at("d/f"), "HELLO"); },
       {"p bundle d/f | " + file + " | file of 5 bytes, SHA-256 " + sha("HELLO")}},
      {"an execute bit too much",
       [&] {
         write_file(to.at("d/f"), "hello");
         ::chmod(to.at("d/f").c_str(), 0755);
       },
       {"p bundle d/f | " + file + " | same content, executable"}},
      {"an execute bit missing",
       [&] { write_file(to.at("d/x"), "run"); },
       {"p bundle d/x | file of 3 bytes, SHA-256 " + sha("run") +
        ", executable | same content, not executable"}},
      {"a directory in place of a file",
       [&] { std::filesystem::create_directories(to.at("d/f")); },
       {"p bundle d/f | " + file + " | directory"}},
      {"a link in place of a file",
       [&] {
         std::filesystem::create_directories(to.at("d"));
         REQUIRE(::symlink("/etc/passwd", to.at("d/f").c_str()) == 0);
       },
       {"p bundle d/f | " + file + " | symbolic link to /etc/passwd"}},
      {"a pipe in place of a file",
       [&] {
         std::filesystem::create_directories(to.at("d"));
         REQUIRE(::mkfifo(to.at("d/f").c_str(), 0644) == 0);
       },
       {"p bundle d/f | " + file + " | no file, directory or link (a device, pipe or socket)"}},
      {"another link",
       [&] {
         std::filesystem::create_directories(to.at("d"));
         REQUIRE(::symlink("g\n", to.at("d/l").c_str()) == 0);
       },
       {"p bundle d/l | symbolic link to f | symbolic link to g\\x0a"}},
      {"a file in place of a link",
       [&] { write_file(to.at("d/l"), "f"); },
       {"p bundle d/l | symbolic link to f | file of 1 bytes"}},
      {"a link in place of a directory",
       [&] { REQUIRE(::symlink("/tmp", to.at("d").c_str()) == 0); },
       {"p bundle d | directory | symbolic link to /tmp (the release has a directory here)"}},
      {"a file in place of a directory",
       [&] { write_file(to.at("d"), "x"); },
       {"p bundle d | directory | file of 1 bytes (the release has a directory here)"}},
      {"all of it wrong, in order",
       [&] {
         write_file(to.at("d/x"), "RUN");
         write_file(to.at("d/l"), "");
         write_file(to.at("d/f"), "");
       },
       {"p bundle d/f | " + file + " | file of 0 bytes",
        "p bundle d/l | symbolic link to f | file of 0 bytes",
        "p bundle d/x | file of 3 bytes, SHA-256 " + sha("run") + ", executable | file of 3 bytes, SHA-256 " +
            sha("RUN")}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    std::filesystem::remove_all(to.dir / "root");
    to.root = fs::DirHandle::open(to.dir / "root", fs::Missing::create);
    row.prepare();
    const auto before = snapshot(to.dir.path());
    CHECK(lines(conflicts_of({&to.part})) == row.conflicts);
    CHECK(snapshot(to.dir.path()) == before);
  }
}

TEST_CASE("a parent that is no directory is one conflict, however much lies below it") {
  Places to;
  to.part.file("a/b/c/1", "1").file("a/b/c/2", "2").file("a/b/3", "3").dir("a/b").finish();
  TestPart other{"q", to.dir / "stage2", to.root, "a/b"};
  other.file("4", "4").finish();
  std::filesystem::create_directories(to.at("a"));
  REQUIRE(::symlink("..", to.at("a/b").c_str()) == 0);
  CHECK(lines(conflicts_of({&to.part, &other})) ==
        std::vector<std::string>{
            "p bundle a/b | directory | symbolic link to .. (the release has a directory here)"});
}

TEST_CASE("entries that are not wanted are not looked at") {
  Places to;
  to.part.unwanted("d/f").finish();
  write_file(to.at("d/f"), "mine");
  CHECK(conflicts_of({&to.part}).empty());
}

TEST_CASE("an adopted file is believed while its stamp holds, and compared again when not") {
  Places to;
  write_file(to.at("f"), "hello");
  to.part.adopted("f", "hello").finish();
  CHECK(conflicts_of({&to.part}).empty());
  SECTION("rewritten with the same content") {
    write_file(to.at("f"), "hello");
    CHECK(conflicts_of({&to.part}).empty());
  }
  SECTION("changed") {
    write_file(to.at("f"), "HELLO");
    CHECK(conflicts_of({&to.part}).size() == 1);
  }
}

TEST_CASE("a root that is not there yet has no conflict") {
  Places to;
  to.part.file("d/f", "hello").finish();
  StagedPart staged = to.part.staged();
  staged.root = nullptr;
  CHECK(find_conflicts({staged}, Stop{}).empty());
}

TEST_CASE("a stop is heeded while conflicts are looked for") {
  Places to;
  to.part.file("f", "hello").finish();
  Stop stop;
  stop.request(2);
  CHECK_THROWS_AS(find_conflicts({to.part.staged()}, stop), Interrupted);
}

TEST_CASE("in a root that everybody may write into, nothing is built on what others can change") {
  Places to;
  to.part.file("top/f", "hello").file("top/sub/g", "x").finish();
  REQUIRE(::chmod((to.dir / "root").c_str(), 01777) == 0);
  std::filesystem::create_directories(to.at("top"));
  SECTION("a directory of ours") {
    CHECK(conflicts_of({&to.part}).empty());
  }
  SECTION("one that the group may write into") {
    REQUIRE(::chmod(to.at("top").c_str(), 0775) == 0);
    CHECK(lines(conflicts_of({&to.part})) ==
          std::vector<std::string>{
              "p bundle top | directory | directory of mode 0775, so others may change it"});
    try {
      publish_all({&to.part});
      FAIL("published");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::conflict);
    }
    CHECK_FALSE(exists(to.at("top/f")));
  }
  SECTION("one of another user") {
    if (::geteuid() != 0) return;
    REQUIRE(::chown(to.at("top").c_str(), 12345, 12345) == 0);
    CHECK(lines(conflicts_of({&to.part})) ==
          std::vector<std::string>{
              "p bundle top | directory | directory owned by user 12345, in a directory that "
              "everybody may write into"});
  }
  SECTION("in a root of our own the same is fine") {
    REQUIRE(::chmod((to.dir / "root").c_str(), 0755) == 0);
    REQUIRE(::chmod(to.at("top").c_str(), 0775) == 0);
    CHECK(conflicts_of({&to.part}).empty());
  }
}
