// SPDX-License-Identifier: Apache-2.0
#include "checks.hpp"
#include "decant/net/content_range.hpp"

#include "support/catch.hpp"

using namespace decant;
using namespace decant::hub;
using source::ReadEnd;

namespace {

const std::string k_commit(40, 'c');

source::Object object_of(std::uint64_t size, hash::Algorithm algorithm = hash::Algorithm::sha256) {
  return {.path = *fs::RelPath::parse("a"),
          .size = size,
          .digest = *hash::Digest::parse(algorithm,
                                         std::string(algorithm == hash::Algorithm::sha256 ? 64 : 40, 'd'))};
}

}  // namespace

TEST_CASE("what the hub says about a file must agree with what is pinned") {
  struct Row {
    std::string name;
    int status;
    std::vector<std::pair<std::string, std::string>> headers;
    hash::Algorithm algorithm;
    bool agrees;
  };
  constexpr auto k_sha256 = hash::Algorithm::sha256;
  constexpr auto k_git = hash::Algorithm::git_sha1;
  const std::string good256 = '"' + std::string(64, 'd') + '"';
  const std::string good40 = '"' + std::string(40, 'd') + '"';
  const std::vector<Row> rows{
      {"nothing said", 302, {}, k_sha256, true},
      {"the commit", 302, {{"x-repo-commit", k_commit}}, k_sha256, true},
      {"another commit", 302, {{"x-repo-commit", std::string(40, 'e')}}, k_sha256, false},
      {"another commit beside an error", 404, {{"x-repo-commit", std::string(40, 'e')}}, k_sha256, false},
      {"the size", 302, {{"x-linked-size", "10"}}, k_sha256, true},
      {"another size", 302, {{"x-linked-size", "15"}}, k_sha256, false},
      {"a size that is none", 302, {{"x-linked-size", "ten"}}, k_sha256, false},
      {"the digest", 302, {{"x-linked-etag", good256}}, k_sha256, true},
      {"the digest, weak", 302, {{"x-linked-etag", "W/" + good256}}, k_sha256, true},
      {"another digest", 302, {{"x-linked-etag", '"' + std::string(64, 'e') + '"'}}, k_sha256, false},
      {"a tag of another kind", 302, {{"x-linked-etag", "\"5f-abc\""}}, k_sha256, true},
      {"sha256 said, git id pinned", 302, {{"x-linked-etag", good256}}, k_git, true},
      {"the git id", 200, {{"etag", good40}}, k_git, true},
      {"another git id", 200, {{"etag", '"' + std::string(40, 'e') + '"'}}, k_git, false},
      {"git id said, sha256 pinned", 200, {{"etag", good40}}, k_sha256, true},
      {"an error page's tag", 503, {{"etag", '"' + std::string(40, 'e') + '"'}}, k_git, true},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    const auto object = object_of(10, row.algorithm);
    const auto problem =
        contradiction({.status = row.status, .headers = row.headers}, k_commit, "a", &object);
    CHECK(problem.has_value() != row.agrees);
    if (!problem) continue;
    CHECK(problem->kind == ErrorKind::integrity);
    CHECK_FALSE(problem->expected.empty());
    CHECK_FALSE(problem->found.empty());
  }
}

TEST_CASE("Content-Range is read strictly") {
  const auto good = net::parse_content_range("bytes 5-9/100");
  REQUIRE(good);
  CHECK(good->first == 5);
  CHECK(good->last == 9);
  CHECK(good->total == 100);
  for (const char* text :
       {"", "bytes", "bytes 5-9", "bytes 5-9/*", "bytes */100", "items 5-9/100", "bytes 9-5/100",
        "bytes 5-100/100", "bytes -5-9/100", "bytes 5-9/99999999999999999999", "bytes5-9/100"}) {
    INFO(text);
    CHECK_FALSE(net::parse_content_range(text));
  }
}

TEST_CASE("a body is taken only when it begins where it was asked to") {
  struct Row {
    std::string name;
    int status;
    std::string content_range, content_length;
    ByteRange range;
    ReadEnd end;
    bool exact = false;
  };
  const std::vector<Row> rows{
      {"the range", 206, "bytes 2-5/10", "4", {2, 4}, ReadEnd::complete, true},
      {"the range, no length", 206, "bytes 2-5/10", "", {2, 4}, ReadEnd::complete},
      {"a longer range", 206, "bytes 2-9/10", "8", {2, 4}, ReadEnd::complete},
      {"a shorter range", 206, "bytes 2-3/10", "2", {2, 4}, ReadEnd::complete},
      {"another start", 206, "bytes 3-5/10", "3", {2, 4}, ReadEnd::wrong_object},
      {"another total", 206, "bytes 2-5/11", "4", {2, 4}, ReadEnd::wrong_object},
      {"unknown total", 206, "bytes 2-5/*", "4", {2, 4}, ReadEnd::wrong_object},
      {"several ranges", 206, "", "400", {2, 4}, ReadEnd::wrong_object},
      {"200 to a part", 200, "", "10", {2, 4}, ReadEnd::range_ignored},
      {"200 to a first part", 200, "", "10", {0, 4}, ReadEnd::range_ignored},
      {"200 to a part, no length", 200, "", "", {0, 4}, ReadEnd::range_ignored},
      {"200 to the whole", 200, "", "10", {0, 10}, ReadEnd::complete, true},
      {"200 to the whole, no length", 200, "", "", {0, 10}, ReadEnd::complete},
      {"200 of another size", 200, "", "11", {0, 10}, ReadEnd::wrong_object},
      {"200 of another size to a part", 200, "", "11", {2, 4}, ReadEnd::wrong_object},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    net::ResponseHead head{.status = row.status};
    if (!row.content_range.empty()) head.headers.emplace_back("content-range", row.content_range);
    if (!row.content_length.empty()) head.headers.emplace_back("content-length", row.content_length);
    const auto verdict = judge_body(head, object_of(10), row.range);
    CHECK(static_cast<int>(verdict.end) == static_cast<int>(row.end));
    if (row.end == ReadEnd::complete) CHECK(verdict.exact_length == row.exact);
    CHECK(verdict.problem.thing.empty() == (row.end == ReadEnd::complete));
  }
}
