// SPDX-License-Identifier: Apache-2.0
#include "answers.hpp"

#include "decant/base/error.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::hub;

namespace {

const std::string k_sha1(40, 'a');
const std::string k_sha256(64, 'b');

}  // namespace

TEST_CASE("a revision answer gives commit and canonical name") {
  const auto info = parse_revision(R"({"id":"new/name","sha":")" + k_sha1 +
                                       R"(","gated":"auto","private":false,"disabled":false,"x":[{}]})",
                                   "it");
  CHECK(info.commit == k_sha1);
  CHECK(info.repo == "new/name");
  CHECK(info.gated == "auto");
  CHECK_FALSE(info.disabled);
  CHECK(parse_revision(R"({"sha":")" + k_sha1 + R"(","gated":false,"disabled":true})", "it").disabled);
  for (const std::string text : {"", "<html>", "[]", "null", "{}", R"({"sha":5})", R"({"sha":"main"})",
                                 R"({"sha":"ABC"})", "{\"sha\":"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_revision(text, "it"), Error);
  }
}

TEST_CASE("tree entries become listed files") {
  const auto listing =
      parse_entries(R"([{"type":"directory","oid":"x","size":0,"path":"d"},)"
                    R"({"type":"file","oid":")" +
                        k_sha1 +
                        R"(","size":9,"path":"d/a","new":1},)"
                        R"({"type":"file","oid":")" +
                        k_sha1 +
                        R"(","size":5000000000,"path":"b",)"
                        R"("lfs":{"oid":")" +
                        k_sha256 + R"(","size":5000000000,"pointerSize":135},"xetHash":"cc"}])",
                    "it");
  REQUIRE(listing.size() == 2);
  CHECK(listing[0].path == "d/a");
  CHECK(listing[0].size == 9);
  CHECK(listing[0].digest == hash::Digest::parse(hash::Algorithm::git_sha1, k_sha1));
  CHECK(listing[1].size == 5'000'000'000);
  CHECK(listing[1].digest == hash::Digest::parse(hash::Algorithm::sha256, k_sha256));
  CHECK(listing[1].xet_hash == "cc");
  CHECK(parse_entries("[]", "it").empty());
}

TEST_CASE("entries that make no sense are refused") {
  const std::string good_oid = R"("oid":")" + k_sha1 + R"(",)";
  struct Row {
    std::string name, text;
  };
  const std::vector<Row> rows{
      {"HTML", "<html>"},
      {"an object", "{}"},
      {"numbers", "[1]"},
      {"no path", R"([{"type":"file",)" + good_oid + R"("size":1}])"},
      {"no size", R"([{"type":"file",)" + good_oid + R"("path":"a"}])"},
      {"negative size", R"([{"type":"file",)" + good_oid + R"("path":"a","size":-1}])"},
      {"fraction", R"([{"type":"file",)" + good_oid + R"("path":"a","size":1.5}])"},
      {"size beyond 2^63", R"([{"type":"file",)" + good_oid + R"("path":"a","size":9223372036854775808}])"},
      {"size as text", R"([{"type":"file",)" + good_oid + R"("path":"a","size":"1"}])"},
      {"no oid", R"([{"type":"file","path":"a","size":1}])"},
      {"short oid", R"([{"type":"file","oid":"aa","path":"a","size":1}])"},
      {"bad lfs oid",
       R"([{"type":"file",)" + good_oid + R"("path":"a","size":1,"lfs":{"oid":"x","size":1}}])"},
      {"two sizes", R"([{"type":"file",)" + good_oid + R"("path":"a","size":1,"lfs":{"oid":")" + k_sha256 +
                        R"(","size":2}}])"},
      {"cut", R"([{"type":"file",)"},
      {"deep", std::string(10'000, '[')},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    try {
      parse_entries(row.text, "it");
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::network);
    }
  }
}

TEST_CASE("the next page is found in Link headers") {
  struct Row {
    std::vector<std::string> links;
    std::string next;
  };
  const std::vector<Row> rows{
      {{}, ""},
      {{R"(<https://h/x?cursor=1>; rel="next")"}, "https://h/x?cursor=1"},
      {{R"(<https://h/x>;rel=next)"}, "https://h/x"},
      {{R"(<https://h/x>; title="a"; REL = "Next")"}, "https://h/x"},
      {{R"(<https://h/p>; rel="prev", <https://h/n?a=1,2>; rel="next")"}, "https://h/n?a=1,2"},
      {{R"(<https://h/t>; rel="xet-auth")", R"(<https://h/n>; rel="next")"}, "https://h/n"},
      {{R"(<https://h/p>; rel="prev")"}, ""},
      {{"<https://h/p"}, ""},
      {{"rel=\"next\""}, ""},
      {{">;rel=next<"}, ""},
  };
  for (const auto& row : rows) {
    net::ResponseHead head;
    for (const auto& link : row.links) head.headers.emplace_back("link", link);
    INFO((row.links.empty() ? "" : row.links[0]));
    CHECK(next_link(head) == row.next);
  }
}

TEST_CASE("the words of an error answer") {
  const auto words = [](std::string_view body) { return error_words({}, body); };
  CHECK(words(R"({"error":"no"})") == "no");
  CHECK(words(R"({"error":["no","never"]})") == "no");
  CHECK(words(R"({"errors":[{"message":"no"}]})") == "no");
  CHECK(words(R"({"error":5})").empty());
  CHECK(words(" plain words\n") == "plain words");
  CHECK(words("<html>no</html>").empty());
  CHECK(words("").empty());
  CHECK(error_words({.headers = {{"x-error-message", "said"}}}, R"({"error":"no"})") == "said");
}

TEST_CASE("an entity tag is bared") {
  CHECK(bare_etag("\"abc\"") == "abc");
  CHECK(bare_etag("W/\"abc\"") == "abc");
  CHECK(bare_etag("abc") == "abc");
  CHECK(bare_etag("\"") == "\"");
  CHECK(bare_etag("").empty());
}

TEST_CASE("paths are asked for as JSON") {
  CHECK(paths_info_body({"a", "b\"c", "d"}, 1, 2) == R"({"expand":false,"paths":["b\"c","d"]})");
}
