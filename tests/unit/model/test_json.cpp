// SPDX-License-Identifier: Apache-2.0
#include "decant/model/json.hpp"

#include "support/catch.hpp"

using decant::model::json_quote;

TEST_CASE("json_quote gives a JSON string for any bytes") {
  struct Row {
    const char* name;
    std::string text;
    std::string quoted;
  };
  const Row rows[] = {
      {"plain", "a/b c", "\"a/b c\""},
      {"empty", "", "\"\""},
      {"quotes and backslash", "a\"b\\c", R"("a\"b\\c")"},
      {"common controls", "a\n\r\tb", R"("a\n\r\tb")"},
      {"other controls", std::string{"\x00\x1b\x7f", 3}, "\"\\u0000\\u001b\\u007f\""},
      {"UTF-8", "h\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80", "\"h\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80\""},
      {"C1 control", "\xC2\x9B", "\"\\u009b\""},
      {"not C1", "\xC2\xA0", "\"\xC2\xA0\""},
      {"lone byte",
       "a\xFF"
       "b",
       "\"a\xEF\xBF\xBD"
       "b\""},
      {"cut character", "\xE4\xB8", "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {"surrogate", "\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(json_quote(row.text) == row.quoted);
  }
}
