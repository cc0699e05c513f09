// SPDX-License-Identifier: Apache-2.0
// Archives whose entries fight each other, and proof that nothing outside the staging directory is touched.
#include <string>
#include <vector>

#include "part_bench.hpp"
#include "support/archive_builder.hpp"
#include "support/catch.hpp"

namespace decant {
namespace {

using test::PartBench;
using test::TarBuilder;

struct Row {
  const char* title;
  const char* rule;
  TarBuilder tar;
  bool external_links = false;
};

std::vector<Row> rows(const std::string& outside) {
  return {
      {"symbolic link out, then through it", "S5", TarBuilder{}.symlink("l", outside).file("l/pwn", "x"),
       true},
      {"symbolic link up, then through it", "S5", TarBuilder{}.symlink("l", "..").file("l/pwn", "x"), true},
      {"file first, link of its parent later", "S5", TarBuilder{}.file("l/pwn", "x").symlink("l", outside),
       true},
      {"symbolic link, then a file of its name", "S4",
       TarBuilder{}.symlink("l", outside + "/victim").file("l", "x"), true},
      {"file, then a symbolic link of its name", "S4", TarBuilder{}.file("l", "x").symlink("l", outside),
       true},
      {"symbolic link to itself, then through it", "S5", TarBuilder{}.symlink("l", "l").file("l/x", "x")},
      {"directory, then a symbolic link of its name", "S4",
       TarBuilder{}.dir("d").symlink("d", outside).file("d/pwn", "x"), true},
      {"directory, symbolic link last", "S4", TarBuilder{}.dir("d").symlink("d", outside), true},
      {"two symbolic links of a name", "S4", TarBuilder{}.symlink("l", "a").symlink("l", "b")},
      {"two files of a name", "S4", TarBuilder{}.file("a", "1").file("a", "2")},
      {"two identical files", "S4", TarBuilder{}.file("a", "1").file("a", "1")},
      {"the same name with ./", "S4", TarBuilder{}.file("a", "1").file("./a", "2")},
      {"directory with content, then a file", "S4", TarBuilder{}.dir("x").file("x/y", "1").file("x", "2")},
      {"implied directory, then a file", "S5", TarBuilder{}.file("x/y", "1").file("x", "2")},
      {"file, then below it", "S5", TarBuilder{}.file("x", "1").file("x/y", "2")},
      {"file, then below it, others between", "S5",
       TarBuilder{}.file("x", "1").file("x-", "").file("x/y", "2")},
      {"file, then a directory of its name", "S4", TarBuilder{}.file("x", "1").dir("x")},
      {"hard link and a file of its name", "S4",
       TarBuilder{}.file("a", "1").hardlink("b", "a").file("b", "2")},
      {"hard link below a file", "S5", TarBuilder{}.file("a", "1").file("b", "").hardlink("b/c", "a")},
      {"hard link to a later file", "S5", TarBuilder{}.hardlink("h", "a").file("a", "1")},
      {"hard link to nothing", "S5", TarBuilder{}.file("a", "1").hardlink("h", "b")},
      {"hard link to a directory", "S5", TarBuilder{}.dir("d").hardlink("h", "d")},
      {"hard link to a symbolic link", "S5",
       TarBuilder{}.symlink("l", outside + "/victim").hardlink("h", "l"), true},
      {"hard link through a symbolic link", "S5",
       TarBuilder{}.symlink("s", outside).hardlink("h", "s/victim"), true},
      {"hard link to itself", "S5", TarBuilder{}.hardlink("h", "h")},
      {"hard link to a hard link", "S5", TarBuilder{}.file("a", "1").hardlink("b", "a").hardlink("c", "b")},
      {"cut inside a file", "S8",
       TarBuilder{}.header({.name = "f", .size = 5'000'000}).data(std::string(1000, 'x'))},
  };
}

TEST_CASE("entries that fight are refused and nothing outside is touched") {
  PartBench bench;
  test::write_file(bench.root() + "/kept", "kept");
  const auto outside = test::snapshot(bench.outside());
  const auto root = test::snapshot(bench.root());
  for (const int lanes : {1, 3}) {
    bench.options.lanes = lanes;
    for (const auto& row : rows(bench.outside())) {
      INFO(row.title << ", lanes " << lanes);
      bench.part.links =
          row.external_links ? model::LinkPolicy::allow_external : model::LinkPolicy::inside_only;
      CHECK_THAT(bench.refusal_of(row.tar.closed()), Catch::Contains(std::string{"rule "} + row.rule));
      CHECK(test::snapshot(bench.outside()) == outside);
      CHECK(test::snapshot(bench.root()) == root);
    }
  }
}

TEST_CASE("entries that fight are refused when they are not wanted, too") {
  PartBench bench;
  bench.options.wants = [](const fs::RelPath&) { return false; };
  for (const auto& row : rows(bench.outside())) {
    INFO(row.title);
    bench.part.links =
        row.external_links ? model::LinkPolicy::allow_external : model::LinkPolicy::inside_only;
    CHECK_THAT(bench.refusal_of(row.tar.closed()), Catch::Contains("rule S"));
    CHECK(test::snapshot(bench.stage()).empty());
  }
}

TEST_CASE("a chain of links whose expansion is too long is never followed") {
  PartBench bench;
  bench.part.links = model::LinkPolicy::allow_external;
  TarBuilder tar;
  std::string at;
  for (char c = 'a'; c <= 'p'; ++c) {
    const std::string name(200, c);
    tar.dir(at + name).symlink(at + std::string(1, c), name);
    at += std::string(1, c) + '/';
  }
  const auto outside = test::snapshot(bench.outside());
  CHECK_THAT(bench.refusal_of(tar.closed()), Catch::Contains("(rule S5)"));
  CHECK(test::snapshot(bench.outside()) == outside);
}

}  // namespace
}  // namespace decant
