// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "decant/fs/sys.hpp"
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

ErrorKind kind_of_publish(TestPart& part) {
  try {
    publish_all({&part});
  } catch (const Error& error) {
    INFO(error.what());
    return error.kind();
  }
  return ErrorKind::bug;
}

std::int64_t mtime_of(const std::string& path) {
  struct stat st {};
  REQUIRE(::lstat(path.c_str(), &st) == 0);
  return st.st_mtim.tv_sec;
}

}  // namespace

TEST_CASE("a new tree is published by one rename, with all its times") {
  Places to;
  to.part.dir("top")
      .dir("top/sub")
      .file("top/sub/f", "hello")
      .hard_link("top/g", "top/sub/f")
      .link("top/l", "g");
  to.part.finish();
  const auto staged = snapshot(to.dir / "stage");
  const auto marks = to.part.marks;
  const PublishCounts counts = publish_all({&to.part});
  CHECK(counts.renamed == 1);
  CHECK(counts.adopted == 0);
  CHECK(snapshot(to.dir / "root") == staged);
  CHECK(snapshot(to.dir / "stage").empty());
  CHECK(to.part.marks == marks);
}

TEST_CASE("what is there stays, what is new is put beside it") {
  Places to;
  write_file(to.at("top/mine"), "mine");
  write_file(to.at("top/sub/same"), "same");
  set_time(to.at("top/sub/same"), 1500000000);
  to.part.dir("top").dir("top/sub").dir("top/new").file("top/sub/same", "same").file("top/sub/f", "hello");
  to.part.file("top/new/f", "x").link("top/sub/l", "f").finish();
  const PublishCounts counts = publish_all({&to.part});
  CHECK(counts.adopted == 1);
  CHECK(read_file(to.at("top/mine")) == "mine");
  CHECK(mtime_of(to.at("top/sub/same")) == 1500000000);
  CHECK(read_file(to.at("top/sub/l")) == "hello");
  CHECK(mtime_of(to.at("top/new")) == k_mtime + 2);
  CHECK(mtime_of(to.at("top")) > k_mtime + 1000);  // not ours: its time is nobody's business
  CHECK(snapshot(to.dir / "stage").empty());
  using state::Place;
  std::vector<Place> places;
  for (const auto& mark : to.part.marks) places.push_back(mark.place);
  CHECK(places == std::vector<Place>{Place::adopted, Place::adopted, Place::ours, Place::adopted, Place::ours,
                                     Place::ours, Place::ours});
  CHECK(look(to.root, {}, to.part.index(), to.part.marks).changed.empty());
}

TEST_CASE("directories that two parts share keep the time of the one that made them") {
  Places to;
  TestPart other{"q", to.dir / "stage2", to.root};
  to.part.dir("top").file("top/1", "1").finish();
  other.file("x", "x").dir("top").dir("top/own").file("top/own/2", "2").finish();
  publish_all({&to.part, &other});
  CHECK(mtime_of(to.at("top")) == k_mtime);
  CHECK(mtime_of(to.at("top/own")) == k_mtime + 2);
}

TEST_CASE("a directory above a part keeps the time that another part gives it") {
  Places to;
  TestPart deeper{"q", to.dir / "stage2", to.root, "media"};
  deeper.file("1", "1").finish();
  to.part.dir("media").file("media/2", "2").finish();
  publish_all({&deeper, &to.part});
  CHECK(mtime_of(to.at("media")) == k_mtime);
}

TEST_CASE("a name that was taken meanwhile by other content is left alone") {
  Places to;
  to.part.dir("top").file("top/f", "hello").link("top/l", "f").finish();
  SECTION("a file") {
    write_file(to.at("top/f"), "HELLO");
  }
  SECTION("a directory") {
    std::filesystem::create_directories(to.at("top/f"));
  }
  SECTION("a link to a directory in place of the directory") {
    std::filesystem::create_directories(to.dir / "outside");
    REQUIRE(::symlink("../outside", to.at("top").c_str()) == 0);
  }
  SECTION("another link") {
    std::filesystem::create_directories(to.at("top"));
    REQUIRE(::symlink("x", to.at("top/l").c_str()) == 0);
  }
  SECTION("a file in place of a link") {
    write_file(to.at("top/l"), "f");
  }
  SECTION("a pipe") {
    std::filesystem::create_directories(to.at("top"));
    REQUIRE(::mkfifo(to.at("top/f").c_str(), 0644) == 0);
  }
  const auto before = snapshot(to.dir / "root");
  CHECK(kind_of_publish(to.part) == ErrorKind::conflict);
  for (const auto& [path, what] : before) {
    if (!what.starts_with("dir")) CHECK(snapshot(to.dir / "root").at(path) == what);
  }
  if (exists(to.dir / "outside")) CHECK(snapshot(to.dir / "outside").empty());
}

TEST_CASE("where names cannot be renamed without replacing, the result is the same") {
  Places to;
  write_file(to.at("top/mine"), "mine");
  to.part.dir("top")
      .dir("top/new")
      .file("top/new/f", "x")
      .file("top/f", "hello")
      .link("top/l", "f")
      .dir("other");
  to.part.finish();
  const auto marks = to.part.marks;
  const fs::sys::ScopedHook hook{[](std::string_view call, unsigned long /*number*/) {
    return call == "rename_noreplace" ? EINVAL : 0;
  }};
  publish_all({&to.part});
  CHECK(snapshot(to.dir / "stage").empty());
  CHECK(mtime_of(to.at("top/new")) == k_mtime + 1);
  CHECK(read_file(to.at("top/mine")) == "mine");
  CHECK(read_file(to.at("top/l")) == "hello");
  struct stat st {};
  REQUIRE(::lstat(to.at("other").c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0755);
  CHECK(marks.back() == to.part.marks.back());
}

TEST_CASE("publishing again changes nothing") {
  Places to;
  to.part.dir("top").file("top/f", "hello").link("top/l", "f").finish();
  publish_all({&to.part});
  const auto before = snapshot(to.dir.path());
  const auto marks = to.part.marks;
  unsigned long calls = 0;
  {
    const fs::sys::ScopedHook hook{[](std::string_view /*call*/, unsigned long /*number*/) { return 0; }};
    const PublishCounts counts = publish_all({&to.part});
    CHECK(counts.renamed == 0);
    CHECK(counts.adopted == 0);
    calls = hook.calls();
  }
  CHECK(calls == 1);  // syncfs
  CHECK(snapshot(to.dir.path()) == before);
  CHECK(to.part.marks == marks);
}

TEST_CASE("staged work that vanished is not called published") {
  Places to;
  to.part.dir("top").file("top/f", "hello").finish();
  ::unlink((to.dir / "stage/top/f").c_str());
  CHECK(kind_of_publish(to.part) == ErrorKind::incomplete);
}

TEST_CASE("deep trees are merged with few open files") {
  Places to;
  std::string path;
  for (int i = 0; i < 60; ++i) {
    path += path.empty() ? "d" : "/d";
    to.part.dir(path);
  }
  std::filesystem::create_directories(to.at(path));
  to.part.file(path + "/f", "x").link(path + "/l", "f").finish();
  publish_all({&to.part});
  CHECK(read_file(to.at(path + "/l")) == "x");
  CHECK(snapshot(to.dir / "stage").empty());
}

TEST_CASE("a stop is heeded between two names") {
  Places to;
  to.part.file("f", "hello").finish();
  Stop stop;
  stop.request(15);
  std::vector<StagedPart> parts{to.part.staged()};
  CHECK_THROWS_AS(decant::publish::publish(parts, progress::silent_reporter(), stop), Interrupted);
  CHECK_FALSE(exists(to.at("f")));
}
