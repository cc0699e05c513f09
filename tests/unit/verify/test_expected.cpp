// SPDX-License-Identifier: Apache-2.0
#include "decant/base/error.hpp"
#include "decant/hash/hasher.hpp"
#include "expected.hpp"
#include "helpers.hpp"

using namespace decant;
using verify::Expected;
using verify::ExpectedType;

namespace {

Expected file(const std::string& path, const std::string& content = "x") {
  Expected entry;
  entry.path = fs::RelPath::require(path, "test");
  entry.size = content.size();
  entry.digest = hash::sha256(content);
  return entry;
}

std::vector<std::string> paths(const std::vector<Expected>& entries) {
  std::vector<std::string> list;
  for (const Expected& entry : entries) list.push_back(entry.path.str());
  return list;
}

}  // namespace

TEST_CASE("missing parents become entries, all in byte order") {
  const auto entries = verify::with_parents({file("b/c/d"), file("a-b"), file("a/x"), file("\xff")});
  CHECK(paths(entries) == std::vector<std::string>{"a", "a-b", "a/x", "b", "b/c", "b/c/d", "\xff"});
  CHECK(entries[0].type == ExpectedType::dir);
  CHECK(verify::is_complete(entries));
}

TEST_CASE("a stated directory is kept, its own parents are filled in") {
  Expected stated = file("a/b");
  stated.type = ExpectedType::dir;
  stated.part = 7;
  const auto entries = verify::with_parents({file("a/b/c/d"), stated});
  CHECK(paths(entries) == std::vector<std::string>{"a", "a/b", "a/b/c", "a/b/c/d"});
  CHECK(entries[1].part == 7);
}

TEST_CASE("a parent is optional only when all below it is") {
  Expected optional = file("a/b/x");
  optional.optional = true;
  const auto entries = verify::with_parents({optional, file("a/y")});
  CHECK_FALSE(entries[0].optional);  // a
  CHECK(entries[1].optional);        // a/b
}

TEST_CASE("two entries of one path that agree are one") {
  Expected media = file("a");
  media.media = true;
  const auto entries = verify::with_parents({media, file("a")});
  REQUIRE(entries.size() == 1);
  CHECK_FALSE(entries[0].media);
}

TEST_CASE("a SHA-256 wins over a git blob id and over nothing") {
  Expected without = file("a");
  without.digest = {};
  Expected git = file("a");
  git.digest = *hash::Digest::parse(hash::Algorithm::git_sha1, std::string(40, 'a'));
  const auto entries = verify::with_parents({without, git, file("a")});
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].digest == hash::sha256("x"));
}

TEST_CASE("entries that cannot both be true are refused") {
  Expected directory = file("a");
  directory.type = ExpectedType::dir;
  Expected link = file("a");
  link.type = ExpectedType::symlink;
  link.target = "x";
  Expected other_link = link;
  other_link.target = "y";
  Expected executable = file("a");
  executable.executable = true;
  const std::vector<std::vector<Expected>> cases{
      {file("a", "x"), file("a", "y")}, {file("a"), directory},   {link, other_link},
      {file("a"), executable},          {file("a"), file("a/b")}, {link, file("a/b")}};
  for (const auto& entries : cases) {
    CHECK_THROWS_MATCHES(verify::with_parents(entries), Error,
                         Catch::Matchers::Predicate<Error>(
                             [](const Error& error) { return error.kind() == ErrorKind::integrity; }));
  }
}

TEST_CASE("the tree's own top is no entry") {
  Expected top;
  top.type = ExpectedType::dir;
  CHECK(verify::with_parents({top}).empty());
}
