// SPDX-License-Identifier: Apache-2.0
#include "decant/fs/rel_path.hpp"

#include <unordered_set>

#include "helpers.hpp"

namespace {

using namespace std::string_literals;
using decant::fs::RelPath;
using decant::fs::test::error_of;
using decant::fs::test::rel;

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST_CASE("paths that break a rule are refused, with the rule in words") {
  struct Row {
    std::string text;
    const char* why;
  };
  for (const Row& row :
       std::vector<Row>{{"/", "absolute"},
                        {"/etc/passwd", "absolute"},
                        {"a/", "ends in"},
                        {"a//b", "//"},
                        {".", "component '.'"},
                        {"..", "component '..'"},
                        {"./a", "component '.'"},
                        {"a/.", "component '.'"},
                        {"a/../b", "component '..'"},
                        {"a/..", "component '..'"},
                        {"a\0b"s, "NUL"},
                        {std::string(256, 'a'), "name longer"},
                        {repeated("a/", 64) + "a", "deeper"},
                        {repeated(std::string(255, 'a') + "/", 16) + "b", "longer than 4095"}}) {
    INFO(row.text);
    std::string why;
    CHECK_FALSE(RelPath::parse(row.text, &why).has_value());
    CHECK_THAT(why, Catch::Contains(row.why));
    CHECK_FALSE(RelPath::parse(row.text).has_value());
  }
}

TEST_CASE("any other bytes are a path") {
  for (const std::string& text : {""s, "a"s, "a/b/c"s, "..."s, ".a"s, "a..b"s, "..a/b"s, "\xFF\xFE"s, " "s,
                                  "a\nb"s, "\\"s, std::string(255, 'a'), repeated("a/", 63) + "a",
                                  repeated(std::string(255, 'a') + "/", 15) + std::string(255, 'b')}) {
    INFO(text);
    const auto path = RelPath::parse(text);
    REQUIRE(path.has_value());
    CHECK(path->str() == text);
  }
}

TEST_CASE("a refused path is told with what it belongs to, escaped") {
  const auto error = error_of([] { RelPath::require("\x1b[2J/..", "part images_000"); });
  CHECK(error.kind() == decant::ErrorKind::state);
  CHECK_THAT(error.what(), Catch::StartsWith("part images_000: the path holds the component '..'"));
  CHECK_THAT(error.what(), Catch::Contains("\\x1b[2J"));
}

TEST_CASE("a path knows its parts") {
  const RelPath path = rel("a/bb/ccc");
  CHECK(path.parent() == rel("a/bb"));
  CHECK(path.name() == "ccc");
  CHECK(path.first() == "a");
  CHECK(path.rest() == rel("bb/ccc"));
  CHECK(path.depth() == 3);
  const RelPath single = rel("a");
  CHECK(single.parent().is_root());
  CHECK(single.rest().is_root());
  CHECK(single.name() == "a");
  CHECK(single.first() == "a");
  const RelPath root;
  CHECK(root.is_root());
  CHECK(root.parent().is_root());
  CHECK(root.rest().is_root());
  CHECK(root.name().empty());
  CHECK(root.first().empty());
  CHECK(root.depth() == 0);
}

TEST_CASE("joined paths keep the rules") {
  CHECK(rel("a") / rel("b/c") == rel("a/b/c"));
  CHECK(RelPath{} / rel("a") == rel("a"));
  CHECK(rel("a") / RelPath{} == rel("a"));
  const RelPath deep = rel(repeated("a/", 39) + "a");
  CHECK(error_of([&] { return deep / deep; }).kind() == decant::ErrorKind::state);
}

TEST_CASE("within means at or below, by whole components") {
  CHECK(rel("a/b").is_within(rel("a")));
  CHECK(rel("a").is_within(rel("a")));
  CHECK(rel("a").is_within(RelPath{}));
  CHECK_FALSE(rel("ab").is_within(rel("a")));
  CHECK_FALSE(rel("a").is_within(rel("a/b")));
  CHECK_FALSE(RelPath{}.is_within(rel("a")));
}

TEST_CASE("paths are ordered by their bytes and can be keys") {
  CHECK(rel("a") < rel("b"));
  CHECK(rel("a") < rel("\xFF"));
  CHECK(std::unordered_set<RelPath>{rel("a"), rel("a"), rel("b")}.size() == 2);
}

}  // namespace
