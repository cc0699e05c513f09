// SPDX-License-Identifier: Apache-2.0
#include "decant/base/text.hpp"

#include <chrono>
#include <set>

#include "support/catch.hpp"

namespace {

using namespace std::string_literals;
using Words = std::vector<std::string>;

TEST_CASE("UTF-8 is judged by the table of well-formed sequences") {
  for (const std::string& good :
       {""s, "plain"s, "\u00e9\u20ac\U0001F600"s, "\0"s, "\xED\x9F\xBF"s, "\xF4\x8F\xBF\xBF"s}) {
    CHECK(decant::is_valid_utf8(good));
  }
  for (const std::string& bad :
       {"\x80"s, "\xC0\xAF"s, "\xC1\xBF"s, "\xE0\x80\x80"s, "\xED\xA0\x80"s, "\xF4\x90\x80\x80"s,
        "\xF5\x80\x80\x80"s, "\xE2\x82"s, "\xE2\x28\xA1"s, "a\xFF"s, "\xF0\x80\x80\x80"s}) {
    CHECK_FALSE(decant::is_valid_utf8(bad));
  }
}

TEST_CASE("control characters are C0, DEL and C1") {
  CHECK(decant::has_control_characters("a\nb"));
  CHECK(decant::has_control_characters("\x7F"));
  CHECK(decant::has_control_characters("\u0085"));
  CHECK(decant::has_control_characters("\0"s));
  CHECK_FALSE(decant::has_control_characters("caf\u00e9 \u00a0"));
  CHECK_FALSE(decant::has_control_characters("\x85"));  // no UTF-8
}

TEST_CASE("what is shown cannot steer a terminal or swap the order of letters") {
  CHECK(decant::escape_for_display("caf\u00e9 \U0001F600") == "caf\u00e9 \U0001F600");
  CHECK(decant::escape_for_display("a\tb\x1b[31m") == "a\\x09b\\x1b[31m");
  CHECK(decant::escape_for_display("back\\slash") == "back\\x5cslash");
  CHECK(decant::escape_for_display("\xFF\xC3") == "\\xff\\xc3");
  CHECK(decant::escape_for_display("\u0085") == "\\xc2\\x85");
  for (const char* sneaky :
       {"\u202a", "\u202e", "\u2066", "\u2069", "\u200e", "\u200f", "\u061c", "\u2028", "\u2029"}) {
    CHECK(decant::escape_for_display(sneaky).starts_with("\\x"));
  }
}

TEST_CASE("words are split, trimmed and folded") {
  CHECK(decant::split("a,b,,c", ',') == Words{"a", "b", "", "c"});
  CHECK(decant::split("", ',') == Words{""});
  CHECK(decant::split(",", ',') == Words{"", ""});
  CHECK(decant::trim(" \t a b\r\n") == "a b");
  CHECK(decant::trim(" \n").empty());
  CHECK(decant::to_lower_ascii("ETag\u00c9") == "etag\u00c9");
  CHECK(decant::starts_with_ci("Bearer x", "bearer "));
  CHECK_FALSE(decant::starts_with_ci("Be", "bearer"));
}

TEST_CASE("globs match whole paths") {
  struct Row {
    const char* pattern;
    const char* path;
    bool matches;
  };
  for (const Row& row : std::vector<Row>{
           {"a/b", "a/b", true},
           {"a/b", "a/b/c", false},
           {"a", "a/b", false},
           {"*", "abc", true},
           {"*", "a/b", false},
           {"*", "", false},
           {"", "", true},
           {"", "a", false},
           {"*.bin", "model.bin", true},
           {"*.bin", "a/model.bin", false},
           {"a*b*c", "aXbYbZc", true},
           {"a*b*c", "aXbYbZ", false},
           {"a**c", "abc", true},
           {"a**c", "a/c", false},
           {"?", "a", true},
           {"?", "\u00e9", true},
           {"?", "\xFF", true},
           {"?", "/", false},
           {"a?c", "ac", false},
           {"**", "", true},
           {"**", "a/b/c", true},
           {"a/**", "a", true},
           {"a/**", "a/b/c", true},
           {"a/**", "ab", false},
           {"**/c", "c", true},
           {"**/c", "a/b/c", true},
           {"**/c", "a/bc", false},
           {"a/**/b", "a/b", true},
           {"a/**/b", "a/x/y/b", true},
           {"a/**/b/**/c", "a/b/x/b/c", true},
           {"a/**/b/**/c", "a/x/c", false},
           {"**/*.txt", "a/b.txt", true},
           {"[a-c]x", "bx", true},
           {"[a-c]x", "dx", false},
           {"[!a-c]x", "dx", true},
           {"[!a-c]x", "ax", false},
           {"[^a]", "b", true},
           {"[]]", "]", true},
           {"[!]]", "a", true},
           {"[a-]", "-", true},
           {"[\u00e0-\u00ef]", "\u00e9", true},
           {"[", "[", true},
           {"a[b", "a[b", true},
           {"part_[0-9][0-9]", "part_07", true},
       }) {
    INFO(row.pattern << " on " << row.path);
    CHECK(decant::glob_match(row.pattern, row.path) == row.matches);
  }
}

TEST_CASE("a glob made to explode takes no time") {
  std::string stars;
  std::string path;
  for (int i = 0; i < 60; ++i) {
    stars += "**/*a*a*a*b/";
    path += "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/";
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(decant::glob_match(stars + "**/x", path + "y"));
  CHECK_FALSE(decant::glob_match("**/**/**/**/**/**/**/**/**/**/**/**/x", path + "y"));
  CHECK_FALSE(decant::glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(4000, 'a')));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{2});
}

TEST_CASE("a word with none of the glob signs is a name") {
  CHECK_FALSE(decant::is_glob("images_000"));
  for (const char* glob : {"a*", "a?", "[a]", "a/b"}) CHECK(decant::is_glob(glob));
}

TEST_CASE("did you mean") {
  const Words names{"images_000", "models", "code", "vllm"};
  CHECK(decant::nearest("modles", names, 2) == Words{"models"});
  CHECK(decant::nearest("Models", names, 1) == Words{"models"});
  CHECK(decant::nearest("images", names, 3) == Words{"images_000"});
  CHECK(decant::nearest("zzzzzzzz", names, 3).empty());
  CHECK(decant::nearest("aaa", {"aab", "aaa", "abb"}, 2) == Words{"aaa", "aab"});
}

TEST_CASE("random hex has the asked length and does not repeat") {
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const std::string hex = decant::random_hex(8);
    CHECK(hex.size() == 16);
    CHECK(hex.find_first_not_of("0123456789abcdef") == std::string::npos);
    seen.insert(hex);
  }
  CHECK(seen.size() == 100);
  CHECK(decant::random_hex(0).empty());
}

}  // namespace
