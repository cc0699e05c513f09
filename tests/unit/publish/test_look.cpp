// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "staged_part.hpp"

using namespace decant;
using namespace decant::publish;
using namespace decant::publish::test;

namespace {

struct Places {
  TempDir dir;
  fs::DirHandle root = fs::DirHandle::open(dir / "root", fs::Missing::create);
  TestPart part{"p", dir / "stage", root, "under"};
  Places() {
    part.dir("d").file("d/f", "hello").link("d/l", "f").unwanted("d/no").file("d/e/g", "x").finish();
  }
  std::string at(std::string_view path) const { return dir / ("root/under/" + std::string{path}); }
  PresenceReport look_at_root() const { return look(root, rel("under"), part.index(), part.marks); }
};

}  // namespace

TEST_CASE("a part that was published is all there, one that was not is not") {
  Places to;
  PresenceReport report = to.look_at_root();
  CHECK(report.presence == Presence::none);
  CHECK(report.expected == 4);
  CHECK(report.missing == std::vector<std::size_t>{0, 1, 2, 4});
  publish_all({&to.part});
  report = to.look_at_root();
  CHECK(report.presence == Presence::all);
  CHECK(report.missing.empty());
  CHECK(report.changed.empty());
}

TEST_CASE("entries that are missing or changed are told") {
  Places to;
  publish_all({&to.part});
  SECTION("a file gone") {
    ::unlink(to.at("d/f").c_str());
    CHECK(to.look_at_root().presence == Presence::some);
    CHECK(to.look_at_root().missing == std::vector<std::size_t>{1});
  }
  SECTION("a file touched") {
    set_time(to.at("d/f"), k_mtime + 1000);
    CHECK(to.look_at_root().presence == Presence::all);
    CHECK(to.look_at_root().changed == std::vector<std::size_t>{1});
  }
  SECTION("a directory touched is still that directory") {
    set_time(to.at("d"), k_mtime + 1000);
    write_file(to.at("d/new"), "mine");
    CHECK(to.look_at_root().changed.empty());
  }
  SECTION("a directory replaced by a link to it") {
    std::filesystem::rename(to.at("d"), to.at("moved"));
    REQUIRE(::symlink("moved", to.at("d").c_str()) == 0);
    CHECK(to.look_at_root().changed == std::vector<std::size_t>{0});
    CHECK(to.look_at_root().missing == std::vector<std::size_t>{1, 2, 4});
    CHECK(to.look_at_root().presence == Presence::some);
  }
}

TEST_CASE("a part of which nothing is wanted is all there") {
  TempDir dir;
  const auto root = fs::DirHandle::open(dir.path(), fs::Missing::is_error);
  CHECK(look(root, {}, {}, {}).presence == Presence::all);
}

TEST_CASE("looking at many entries is fast") {
  TempDir dir;
  const auto root = fs::DirHandle::open(dir / "root", fs::Missing::create);
  TestPart part{"p", dir / "stage", root};
  for (int i = 0; i < 4000; ++i) part.file("d" + std::to_string(i % 40) + "/" + std::to_string(i), "x");
  part.finish();
  publish_all({&part});
  const auto begin = std::chrono::steady_clock::now();
  CHECK(look(root, {}, part.index(), part.marks).presence == Presence::all);
  CHECK(std::chrono::steady_clock::now() - begin <
        std::chrono::seconds{1});  // generous: sanitizers, busy machines
}
