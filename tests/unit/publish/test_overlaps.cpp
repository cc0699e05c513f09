// SPDX-License-Identifier: Apache-2.0
#include "decant/hash/hasher.hpp"
#include "staged_part.hpp"

using namespace decant;
using namespace decant::publish;
using namespace decant::publish::test;

namespace {

struct Places {
  TempDir dir;
  fs::DirHandle root = fs::DirHandle::open(dir / "root", fs::Missing::create);
  TestPart one{"one", dir / "stage1", root};
  TestPart two{"two", dir / "stage2", root, "d"};

  std::vector<std::string> conflicts() {
    one.finish();
    two.finish();
    return lines(conflicts_of({&one, &two}));
  }
};

}  // namespace

TEST_CASE("two parts may bring the same directory, file and link") {
  Places to;
  to.one.dir("d").file("d/f", "same", true).link("d/l", "f").file("d/1", "1");
  to.two.file("f", "same", true).link("l", "f").file("2", "2").dir("e");
  CHECK(to.conflicts().empty());
  publish_all({&to.one, &to.two});
  CHECK(snapshot(to.dir / "stage2").empty());
  CHECK(conflicts_of({&to.one, &to.two}).empty());
}

TEST_CASE("two parts that bring different content for one path conflict") {
  Places to;
  const std::string is_file = " | file of 4 bytes, SHA-256 " + hash::sha256("same").hex();
  SECTION("content") {
    to.one.file("d/f", "SAME");
    to.two.file("f", "same");
    CHECK(to.conflicts() ==
          std::vector<std::string>{"two bundle d/f" + is_file +
                                   " | part one brings other content (file of 4 bytes, SHA-256 " +
                                   hash::sha256("SAME").hex() + ")"});
  }
  SECTION("execute bit") {
    to.one.file("d/f", "same", true);
    to.two.file("f", "same");
    CHECK(to.conflicts().size() == 1);
  }
  SECTION("link target") {
    to.one.link("d/l", "a");
    to.two.link("l", "b");
    CHECK(to.conflicts() ==
          std::vector<std::string>{"two bundle d/l | symbolic link to b | part one brings other "
                                   "content (symbolic link to a)"});
  }
  SECTION("type") {
    to.one.dir("d/f");
    to.two.file("f", "same");
    CHECK(to.conflicts() == std::vector<std::string>{"two bundle d/f" + is_file +
                                                     " | part one brings other content (directory)"});
  }
  SECTION("a file where the other has something below") {
    to.one.file("d/f", "same");
    to.two.file("f/x/y", "1").file("f/x/z", "2");
    CHECK(to.conflicts() ==
          std::vector<std::string>{"two bundle d/f | directory | part one brings other content "
                                   "(file of 4 bytes, SHA-256 " +
                                   hash::sha256("same").hex() + ")"});
  }
  SECTION("a link where the other, earlier one has something below") {
    to.one.file("d/f/x", "1");
    to.two.link("f", "/tmp");
    CHECK(to.conflicts() ==
          std::vector<std::string>{"one bundle d/f | directory | part two brings other content "
                                   "(symbolic link to /tmp)"});
  }
  SECTION("but not when one of them is not wanted") {
    to.one.unwanted("d/f");
    to.two.file("f", "same");
    CHECK(to.conflicts().empty());
  }
}
