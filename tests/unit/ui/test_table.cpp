// SPDX-License-Identifier: Apache-2.0
#include "decant/ui/ui.hpp"
#include "support/catch.hpp"
#include "width.hpp"

using namespace decant;

TEST_CASE("columns are aligned by display width, numbers to the right, without blanks at the end") {
  CHECK(ui::render_table({{"NAME"}, {"SIZE", true}, {"STATE"}},
                         {{"a", "1 B", "done"}, {"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", "12.3 GB", ""}}) ==
        "NAME       SIZE  STATE\n"
        "a           1 B  done\n"
        "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e  12.3 GB\n");
}

TEST_CASE("a table without titles has no title line") {
  CHECK(ui::render_table({{""}, {""}}, {{"a", "b"}}) == "a  b\n");
  CHECK(ui::render_table({{"A"}}, {}) == "A\n");
}

TEST_CASE("width counts what a terminal shows") {
  struct Row {
    std::string text;
    int width;
  };
  const std::vector<Row> rows{{"", 0},          {"abc", 3},          {"caf\xc3\xa9", 4},
                              {"e\xcc\x81", 1}, {"\xe6\x97\xa5", 2}, {"\xf0\x9f\x98\x80", 2},
                              {"\xff\xfe", 2},  {"\xe6\x97", 2}};
  for (const Row& row : rows) CHECK(ui::display_width(row.text) == row.width);
}

TEST_CASE("cutting keeps the head or the tail") {
  CHECK(ui::cut_to_width("abcdef", 6) == "abcdef");
  CHECK(ui::cut_to_width("abcdefg", 6) == "abc...");
  CHECK(ui::cut_to_width("abcdefg", 6, ui::Keep::tail) == "...efg");
  CHECK(ui::cut_to_width("abcdefg", 2) == "..");
  CHECK(ui::cut_to_width("abcdefg", 0).empty());
  CHECK(ui::cut_to_width("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", 5) == "\xe6\x97\xa5...");
}
