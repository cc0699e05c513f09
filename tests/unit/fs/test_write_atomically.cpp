// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include <cerrno>

#include "decant/fs/sys.hpp"
#include "helpers.hpp"

namespace {

using namespace decant::fs;
using namespace decant::fs::test;
using Names = std::vector<std::string>;

TEST_CASE("a file is written whole, new or over an old one") {
  const EitherWay way;
  const TempDir dir;
  const DirHandle root = open_root(dir);
  root.make_dirs(rel("a/b"));
  root.write_file_atomically(rel("a/b/f"), "first", 0600);
  CHECK(root.stat(rel("a/b/f"))->mode == 0600);
  root.write_file_atomically(rel("a/b/f"), "second");
  CHECK(read_file(dir / "a/b/f") == "second");
  CHECK(root.open_dir(rel("a/b")).list() == Names{"f"});
  root.write_file_atomically(rel("empty"), "");
  CHECK(read_file(dir / "empty").empty());
  CHECK_THROWS_AS(root.write_file_atomically(rel("none/f"), "x"), decant::Error);
}

TEST_CASE("a link at the final name is replaced, not written through") {
  const TempDir dir;
  write_file(dir / "target", "kept");
  REQUIRE(::symlink("target", (dir / "f").c_str()) == 0);
  open_root(dir).write_file_atomically(rel("f"), "new");
  CHECK(read_file(dir / "target") == "kept");
  CHECK(read_file(dir / "f") == "new");
}

TEST_CASE("the steps come in the order that survives a power cut") {
  const TempDir dir;
  Names calls;
  const sys::ScopedHook hook{[&](std::string_view call, unsigned long) {
    calls.emplace_back(call);
    return 0;
  }};
  open_root(dir).write_file_atomically(rel("f"), "x");
  CHECK(calls == Names{"open_create", "write", "fsync", "renameat", "fsync"});
}

TEST_CASE("whichever step fails, the old file stays whole and no temporary one is left") {
  for (unsigned long k = 1; k <= 5; ++k) {
    INFO("step " << k);
    const TempDir dir;
    write_file(dir / "f", "old");
    const DirHandle root = open_root(dir);
    {
      const sys::ScopedHook hook{
          [&](std::string_view, unsigned long number) { return number == k ? ENOSPC : 0; }};
      const auto error = error_of([&] { root.write_file_atomically(rel("f"), "new"); });
      CHECK_THAT(error.what(), Catch::Contains(dir / "f"));
    }
    CHECK(root.list() == Names{"f"});
    CHECK(read_file(dir / "f") == (k < 5 ? "old" : "new"));
  }
}

TEST_CASE("whichever step the process dies at, the file is the old or the new one") {
  for (unsigned long k = 1; k <= 5; ++k) {
    INFO("step " << k);
    const TempDir dir;
    write_file(dir / "f", "old");
    const DirHandle root = open_root(dir);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const sys::ScopedHook hook{[&](std::string_view, unsigned long number) {
        if (number == k) ::_exit(9);
        return 0;
      }};
      root.write_file_atomically(rel("f"), "new");
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 9);
    CHECK(read_file(dir / "f") == (k < 5 ? "old" : "new"));
    for (const std::string& name : root.list()) CHECK((name == "f" || name.starts_with(".tmp-")));
  }
}

}  // namespace
