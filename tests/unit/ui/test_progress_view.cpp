// SPDX-License-Identifier: Apache-2.0
#include "progress_view.hpp"

#include "support/catch.hpp"

using namespace decant;
using progress::PartPhase;
using ui::Snapshot;

TEST_CASE("the time left is told in round words") {
  struct Row {
    std::uint64_t seconds;
    std::string words;
  };
  const std::vector<Row> rows{
      {1, "about 5 s"},           {42, "about 45 s"},           {54, "about 55 s"},
      {55, "about 1 min"},        {61, "about 2 min"},          {3000, "about 50 min"},
      {3600, "about 1 h 00 min"}, {11'000, "about 3 h 04 min"}, {400'000, "more than 100 h"}};
  for (const Row& row : rows) {
    CHECK(ui::time_left({.bytes_total = row.seconds * 1000, .rate = 1000}) == row.words);
  }
  CHECK(ui::time_left({.bytes_total = 1000, .rate = 0}).empty());
  CHECK(ui::time_left({.bytes_total = 1000}).empty());
  CHECK(ui::time_left({.bytes_total = 1000, .bytes_done = 1000, .rate = 5}).empty());
}

TEST_CASE("100 percent only when nothing is left") {
  CHECK(ui::plain_line({.phase = "fetch", .bytes_total = 1'000'000, .bytes_done = 999'999}) ==
        "fetch 1.0 MB of 1.0 MB (99 %)");
  CHECK(ui::plain_line({.phase = "fetch", .bytes_total = 1'000'000, .bytes_done = 1'000'000}) ==
        "fetch 1.0 MB of 1.0 MB (100 %)");
}

TEST_CASE("only active parts are named, the first few") {
  Snapshot snapshot{.phase = "fetch"};
  for (int i = 0; i < 12; ++i) {
    snapshot.parts.push_back(
        {.name = "p" + std::to_string(i), .phase = PartPhase::fetching, .bytes_total = 10});
  }
  snapshot.parts[0].phase = PartPhase::done;
  snapshot.parts[1].phase = PartPhase::waiting;
  snapshot.parts[3].phase = PartPhase::unpacking;
  CHECK(ui::plain_line(snapshot) == "fetch; fetching p2, unpacking p3, fetching p4 and 7 more");
  const auto lines = ui::bar_lines(snapshot, 80);
  REQUIRE(lines.size() == 10);  // eight parts, "and more", the bar
  CHECK(lines[8] == "  and 2 more");
}
