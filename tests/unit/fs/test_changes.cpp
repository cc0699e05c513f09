// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>

#include <cerrno>
#include <thread>

#include "decant/fs/sys.hpp"
#include "helpers.hpp"

namespace {

using namespace decant::fs;
using namespace decant::fs::test;
using decant::ErrorKind;

// The file system cannot rename without replacing.
int no_noreplace(std::string_view call, unsigned long /*number*/) {
  return call == "rename_noreplace" ? EINVAL : 0;
}

TEST_CASE("missing directories are made, those that are there are used") {
  const EitherWay way;
  const TempDir dir;
  const DirHandle root = open_root(dir);
  const mode_t old = ::umask(022);
  CHECK(root.make_dirs(rel("a/b/c"), 0777).path() == dir / "a/b/c");
  ::umask(old);
  CHECK(root.stat(rel("a/b"))->mode == 0755);
  write_file(dir / "a/b/c/f", "x");
  CHECK(root.make_dirs(rel("a/b/c")).list() == std::vector<std::string>{"f"});
  CHECK(root.make_dirs(RelPath{}).list() == std::vector<std::string>{"a"});
  const auto error = error_of([&] { root.make_dirs(rel("a/b/c/f/d")); });
  CHECK(error.kind() == ErrorKind::conflict);
  CHECK_THAT(error.what(), Catch::Contains("a/b/c/f "));
}

TEST_CASE("many threads make the same directories at the same time") {
  const EitherWay way;
  const TempDir dir;
  const DirHandle root = open_root(dir);
  std::atomic<int> made{0};
  for (int round = 0; round < 20; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        try {
          root.make_dirs(rel("r" + std::to_string(round) + "/a/b/c/d"));
          ++made;
        } catch (const decant::Error&) {
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(made == 80);
}

TEST_CASE("one directory is made once, and any taken name counts") {
  const EitherWay way;
  const TempDir dir;
  const DirHandle root = open_root(dir);
  CHECK(root.make_dir(rel("a"), 0700));
  CHECK(root.stat(rel("a"))->mode == 0700);
  CHECK_FALSE(root.make_dir(rel("a"), 0700));
  CHECK_FALSE(root.make_dir(RelPath{}, 0700));
  write_file(dir / "f", "");
  CHECK_FALSE(root.make_dir(rel("f"), 0700));
  CHECK_THAT(error_of([&] { root.make_dir(rel("none/a"), 0700); }).what(),
             Catch::Contains("none/a: no such file"));
}

TEST_CASE("a new file never opens one that is there") {
  const EitherWay way;
  const TempDir dir;
  const DirHandle root = open_root(dir);
  root.make_dir(rel("d"), 0755);
  const auto fd = root.create_file(rel("d/f"), 0600);
  REQUIRE(fd.has_value());
  CHECK(facts_of(fd->get()).mode == 0600);
  CHECK_FALSE(root.create_file(rel("d/f"), 0600).has_value());
  CHECK_FALSE(root.create_file(rel("d"), 0600).has_value());
  CHECK_FALSE(root.create_file(RelPath{}, 0600).has_value());
  REQUIRE(::symlink("nowhere", (dir / "dangling").c_str()) == 0);
  CHECK_FALSE(root.create_file(rel("dangling"), 0600).has_value());
  CHECK_FALSE(exists(dir / "nowhere"));
  CHECK_THROWS_AS(root.create_file(rel("none/f"), 0600), decant::Error);
}

TEST_CASE("rename replaces a file, within a handle and between two") {
  const EitherWay way;
  const TempDir dir;
  write_file(dir / "a/f", "new");
  write_file(dir / "b/c/g", "old");
  const DirHandle root = open_root(dir);
  root.rename(rel("a/f"), root.open_dir(rel("b")), rel("c/g"));
  CHECK(read_file(dir / "b/c/g") == "new");
  CHECK_FALSE(exists(dir / "a/f"));
  const auto error = error_of([&] { root.rename(rel("a/f"), root, rel("x")); });
  CHECK_THAT(error.what(), Catch::Contains("a/f") && Catch::Contains("no such file"));
  CHECK_THROWS_AS(root.rename(RelPath{}, root, rel("x")), decant::Error);
}

TEST_CASE("rename without replacing says whether the name was free, also where the file system cannot") {
  const EitherWay way;
  const bool fallback = GENERATE(false, true);
  const int error = GENERATE(EINVAL, ENOSYS);
  INFO((fallback ? "fallback" : "renameat2"));
  const TempDir dir;
  write_file(dir / "a/f", "new");
  write_file(dir / "taken", "old");
  REQUIRE(::symlink("target", (dir / "a/link").c_str()) == 0);
  const DirHandle root = open_root(dir);
  const sys::ScopedHook hook{[&](std::string_view call, unsigned long /*number*/) {
    return fallback && call == "rename_noreplace" ? error : 0;
  }};
  CHECK_FALSE(root.rename_noreplace(rel("a/f"), root, rel("taken")));
  CHECK(read_file(dir / "taken") == "old");
  CHECK(read_file(dir / "a/f") == "new");
  CHECK(root.rename_noreplace(rel("a/f"), root.open_dir(rel("a")), rel("g")));
  CHECK(read_file(dir / "a/g") == "new");
  CHECK_FALSE(exists(dir / "a/f"));
  CHECK(root.stat(rel("a/g"))->nlink == 1);
  CHECK(root.rename_noreplace(rel("a/link"), root, rel("link")));
  CHECK(root.read_link(rel("link")) == "target");
  CHECK_FALSE(root.rename_noreplace(rel("a/g"), root, rel("link")));
  CHECK_THROWS_AS(root.rename_noreplace(rel("none"), root, rel("x")), decant::Error);
}

TEST_CASE("directories are renamed without replacing, or it is said why not") {
  const EitherWay way;
  const TempDir dir;
  write_file(dir / "a/f", "x");
  write_file(dir / "b/f", "y");
  const DirHandle root = open_root(dir);
  {
    const sys::ScopedHook hook{no_noreplace};
    const auto error = error_of([&] { root.rename_noreplace(rel("a"), root, rel("c")); });
    CHECK(error.kind() == ErrorKind::disk);
    CHECK_THAT(error.what(), Catch::Contains("EINVAL"));
    CHECK(exists(dir / "a/f"));
    CHECK_FALSE(exists(dir / "c"));
  }
  CHECK_FALSE(root.rename_noreplace(rel("a"), root, rel("b")));
  CHECK(root.rename_noreplace(rel("a"), root, rel("c")));
  CHECK(read_file(dir / "c/f") == "x");
}

TEST_CASE("a link that the fallback made before it was stopped is finished, not taken for a stranger") {
  const TempDir dir;
  write_file(dir / "f", "x");
  REQUIRE(::link((dir / "f").c_str(), (dir / "g").c_str()) == 0);
  const DirHandle root = open_root(dir);
  const sys::ScopedHook hook{no_noreplace};
  CHECK(root.rename_noreplace(rel("f"), root, rel("g")));
  CHECK_FALSE(exists(dir / "f"));
  CHECK(read_file(dir / "g") == "x");
}

TEST_CASE("sync passes on failures, but not that a directory cannot be synced there") {
  const TempDir dir;
  const DirHandle root = open_root(dir);
  root.sync();
  root.sync_file_system();
  int error = EIO;
  const sys::ScopedHook hook{[&](std::string_view, unsigned long) { return error; }};
  CHECK_THROWS_AS(root.sync(), decant::Error);
  CHECK_THROWS_AS(root.sync_file_system(), decant::Error);
  error = EINVAL;
  root.sync();
}

}  // namespace
