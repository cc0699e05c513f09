// SPDX-License-Identifier: Apache-2.0
#include <cerrno>

#include "decant/fs/sys.hpp"
#include "helpers.hpp"

namespace {

using namespace decant::fs;
using namespace decant::fs::test;

TEST_CASE("what is missing is removed already") {
  const EitherWay way;
  const TempDir dir;
  write_file(dir / "f", "");
  const DirHandle root = open_root(dir);
  for (const char* missing : {"none", "none/x", "f/x"}) {
    INFO(missing);
    root.remove_file(rel(missing));
    root.remove_dir(rel(missing));
    root.remove_tree(rel(missing));
  }
  CHECK(exists(dir / "f"));
}

TEST_CASE("files and empty directories are removed by their own call only") {
  const EitherWay way;
  const TempDir dir;
  write_file(dir / "d/f", "");
  const DirHandle root = open_root(dir);
  CHECK_THROWS_AS(root.remove_file(rel("d")), decant::Error);
  CHECK_THROWS_AS(root.remove_dir(rel("d/f")), decant::Error);
  CHECK_THAT(error_of([&] { root.remove_dir(rel("d")); }).what(), Catch::Contains("not empty"));
  root.remove_file(rel("d/f"));
  root.remove_dir(rel("d"));
  CHECK(root.list().empty());
}

TEST_CASE("a tree is removed with everything in it, and no link is followed") {
  const EitherWay way;
  const TempDir dir;
  write_file(dir / "outside/kept", "x");
  write_file(dir / "root/t/a/b/f", "x");
  write_file(dir / "root/t/f", "x");
  REQUIRE(::symlink("../../outside", (dir / "root/t/link").c_str()) == 0);
  REQUIRE(::symlink("../outside", (dir / "root/top_link").c_str()) == 0);
  REQUIRE(::mkfifo((dir / "root/t/fifo").c_str(), 0600) == 0);
  const DirHandle root = DirHandle::open(dir / "root", Missing::is_error);
  root.remove_tree(rel("t"));
  root.remove_tree(rel("top_link"));
  CHECK(root.list().empty());
  CHECK(read_file(dir / "outside/kept") == "x");
  write_file(dir / "root/single", "x");
  root.remove_tree(rel("single"));
  CHECK(root.list().empty());
}

TEST_CASE("closed directories of ours are opened up to be removed") {
  const EitherWay way;
  const TempDir dir;
  write_file(dir / "t/closed/deep/f", "x");
  write_file(dir / "t/readonly/f", "x");
  REQUIRE(::chmod((dir / "t/closed/deep").c_str(), 0) == 0);
  REQUIRE(::chmod((dir / "t/closed").c_str(), 0) == 0);
  REQUIRE(::chmod((dir / "t/readonly").c_str(), 0555) == 0);
  const DirHandle root = open_root(dir);
  root.remove_tree(rel("t"));
  CHECK(root.list().empty());
}

TEST_CASE("a failure while removing names the entry, and a second run finishes") {
  const TempDir dir;
  for (const char* file : {"t/a/1", "t/a/2", "t/b/3"}) write_file(dir / file, "x");
  const DirHandle root = open_root(dir);
  for (unsigned long k = 1; exists(dir / "t"); ++k) {
    const sys::ScopedHook hook{[&](std::string_view, unsigned long number) { return number == k ? EIO : 0; }};
    try {
      root.remove_tree(rel("t"));
    } catch (const decant::Error& error) {
      CHECK(error.kind() == decant::ErrorKind::disk);
      CHECK_THAT(error.what(), Catch::Contains(dir.path()));
    }
  }
  CHECK(root.list().empty());
}

TEST_CASE("a root itself is never removed") {
  const TempDir dir;
  const DirHandle root = open_root(dir);
  CHECK_THROWS_AS(root.remove_tree(RelPath{}), decant::Error);
  CHECK_THROWS_AS(root.remove_dir(RelPath{}), decant::Error);
  CHECK_THROWS_AS(root.remove_file(RelPath{}), decant::Error);
  CHECK(exists(dir.path()));
}

}  // namespace
