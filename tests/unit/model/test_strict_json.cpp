// SPDX-License-Identifier: Apache-2.0
#include "strict_json.hpp"

#include "model_support.hpp"

using namespace decant;
using namespace decant::model;

namespace {

const TextOrigin k_origin{.name = "a.json", .hint = "mend it"};

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

std::string many_keys(std::size_t count, const std::string& last) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) text += "\"k" + std::to_string(i) + "\": 1, ";
  return text + "\"" + last + "\": 2}";
}

}  // namespace

TEST_CASE("bad JSON is refused with its place and reason") {
  struct Row {
    const char* name;
    std::string text;
    const char* words;  // in the one-line message
  };
  const Row rows[] = {
      {"nothing", "", "line 1, column 1: the text ends too early"},
      {"white space only", " \n ", "the text ends too early"},
      {"cut", "{\"a\": [1, 2", "the text ends too early"},
      {"cut in a string", "{\"a\": \"xyz", "line 1"},
      {"trailing text", "{} x", "text after the JSON value"},
      {"two values", "{}\n{}", "line 2"},
      {"comment", "{} // no", "line 1, column 4"},
      {"trailing comma", "[1,]", "not valid JSON"},
      {"single quotes", "{'a': 1}", "line 1, column 2: not valid JSON"},
      {"NaN", "[NaN]", "not valid JSON"},
      {"leading zero", "[01]", "not valid JSON"},
      {"plus sign", "[+1]", "not valid JSON"},
      {"hexadecimal", "[0x10]", "not valid JSON"},
      {"number beyond double", "[1e999]", "a number is too large"},
      {"line of a later fault", "{\n \"a\": 1,\n \"b\": ?\n}", "line 3, column 7"},
      {"duplicate key", "{\"a\": 1, \"a\": 2}", "line 1, column 12: key \"a\" appears twice"},
      {"duplicate key by escape", "{\"a\": 1, \"\\u0061\": 2}", "key \"a\" appears twice"},
      {"duplicate key deep", "[{\"x\": [{\"b\": 1, \"c\": 1, \"b\": 1}]}]", "key \"b\" appears twice"},
      {"duplicate among many", many_keys(40, "k3"), "key \"k3\" appears twice"},
      {"duplicate at the limit of few", many_keys(16, "k15"), "key \"k15\" appears twice"},
      {"65 levels", nested(65), "column 65: nested too deeply"},
      {"a million levels", std::string(1000000, '['), "nested too deeply"},
      {"byte order mark", "\xEF\xBB\xBF{}", "byte order mark"},
      {"UTF-16", std::string{"{\0}\0", 4}, "a NUL byte"},
      {"NUL behind the value", std::string{"{}\0garbage", 10}, "column 3: a NUL byte"},
      {"NUL in a string", std::string{"\"a\0b\"", 5}, "a NUL byte"},
      {"bad UTF-8 in a string", "\"a\xFF\"", "not valid UTF-8"},
      {"bad UTF-8 in a key", "{\"\xC3\": 1}", "line 1"},
      {"overlong UTF-8", "\"\xC0\xAF\"", "not valid UTF-8"},
      {"surrogate as UTF-8", "\"\xED\xA0\x80\"", "not valid UTF-8"},
      {"lone surrogate escape", "\"\\uD800\"", "not valid JSON"},
      {"control character in a string", "\"a\x01\"", "not valid JSON"},
      {"newline in a string", "\"a\nb\"", "not valid JSON"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const Problem problem = test::problem_of([&] { parse_json(row.text, k_origin); });
    CHECK(problem.kind == ErrorKind::state);
    CHECK(problem.hint == "mend it");
    CHECK_THAT(problem.thing, Catch::Contains("a.json: line "));
    CHECK_THAT(problem.thing, Catch::Contains(row.words));
  }
}

TEST_CASE("what a message quotes is safe for a terminal") {
  const auto problem =
      test::problem_of([] { parse_json("{\"a\\u001b[2J\":1,\"a\\u001b[2J\":1}", k_origin); });
  CHECK_THAT(problem.thing, Catch::Contains("\\x1b[2J"));
  CHECK_THAT(problem.thing, !Catch::Contains("\x1b"));
}

TEST_CASE("a text that starts at a later line says so") {
  const TextOrigin origin{.name = "x", .first_line = 7, .hint = ""};
  CHECK_THAT(test::problem_of([&] { parse_json("{]", origin); }).thing,
             Catch::Contains("x: line 7, column 2"));
}

TEST_CASE("good JSON is kept as it is written") {
  const char* texts[] = {
      "null",
      "true",
      "[]",
      "{}",
      "-5",
      "18446744073709551615",
      "[1.50,1e3,1E-2,-0.0]",
      "\"\"",
      R"({"b":1,"a":[{"x":null},"y\n",false],"":{}})",
  };
  for (const char* text : texts) {
    INFO(text);
    CHECK(to_text(parse_json(text, k_origin)) == text);
  }
  CHECK(to_text(parse_json(nested(64), k_origin)) == nested(64));
  CHECK(to_text(parse_json(" [ 1 ,\r\n\t2 ] \n", k_origin)) == "[1,2]");
  CHECK(to_text(parse_json("[18446744073709551616]", k_origin)) == "[18446744073709551616]");
  CHECK(parse_json(many_keys(40, "z"), k_origin).find("z") != nullptr);
  CHECK(parse_json("[1]", k_origin).find("z") == nullptr);
}

TEST_CASE("describe says a value in a few words") {
  CHECK(describe(parse_json("[]", k_origin)) == "an empty list");
  CHECK(describe(parse_json("[1,2]", k_origin)) == "a list of 2");
  CHECK(describe(parse_json("{}", k_origin)) == "an object");
  CHECK(describe(parse_json("\"a\\u0007\"", k_origin)) == "\"a\\x07\"");
  CHECK(describe(parse_json("1e3", k_origin)) == "1e3");
  CHECK(describe(parse_json("null", k_origin)) == "null");
  CHECK(describe(Value{std::string(500, 'x')}).size() < 100);
}
