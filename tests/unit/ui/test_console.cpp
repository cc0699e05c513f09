// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "fakes.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;
using ui::ProgressMode;

namespace decant::test {

std::string screen_after(const std::string& text) {
  std::vector<std::string> lines{""};
  std::size_t row = 0;
  std::size_t column = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++row;
      column = 0;
      if (row == lines.size()) lines.emplace_back();
    } else if (text[i] == '\r') {
      column = 0;
    } else if (text[i] == '\x1b') {
      const std::size_t end = text.find_first_not_of("0123456789[", i + 1);
      const std::string digits = text.substr(i + 2, end - i - 2);
      if (text[end] == 'A') row -= std::stoul(digits);
      if (text[end] == 'K' || text[end] == 'J') lines[row].resize(std::min(column, lines[row].size()));
      if (text[end] == 'J') lines.resize(row + 1);
      i = end;
    } else {
      if (lines[row].size() <= column) lines[row].resize(column + 1, ' ');
      lines[row][column++] = text[i];
    }
  }
  std::string screen;
  for (const std::string& line : lines) screen += line + '\n';
  screen.pop_back();
  return screen;
}

}  // namespace decant::test

namespace {

constexpr std::uint64_t k_gb = 1'000'000'000;

// A part of 40 GB that fetches.
std::shared_ptr<progress::PartCounters> start_part(TestConsole& console,
                                                   const std::string& name = "images_003") {
  console.reporter().phase("fetch");
  console.reporter().totals(40 * k_gb, 0);
  auto part = console.reporter().part(name, 40 * k_gb);
  part->phase = progress::PartPhase::fetching;
  return part;
}

void fetch(progress::PartCounters& part, std::uint64_t bytes) {
  part.bytes_done += bytes;
  part.bytes_from_network += bytes;
}

}  // namespace

TEST_CASE("without a terminal there is one plain line each ten seconds, and no control sequence ever") {
  const auto mode = GENERATE(ProgressMode::automatic, ProgressMode::bar, ProgressMode::plain);
  TestConsole console{{.progress = mode}};
  const auto part = start_part(console);
  for (int tick = 0; tick < 400; ++tick) {
    console.at(tick * 0.1);
    fetch(*part, 20'000'000);
  }
  CHECK(console.err ==
        "fetch 2.0 GB of 40.0 GB (5 %), 200 MB/s, about 4 min left; fetching images_003\n"
        "fetch 4.0 GB of 40.0 GB (10 %), 200 MB/s, about 3 min left; fetching images_003\n"
        "fetch 6.0 GB of 40.0 GB (15 %), 200 MB/s, about 3 min left; fetching images_003\n");
  CHECK(console.out.empty());
}

TEST_CASE("a command that is over soon prints no progress line") {
  TestConsole console;
  start_part(console);
  console.at(0);
  console.at(9.9);
  console.core.end_progress();
  console.at(20);
  CHECK(console.err.empty());
}

TEST_CASE("progress none draws nothing, but messages come") {
  TestConsole console{{.color = ui::ColorMode::never, .progress = ProgressMode::none}, true};
  start_part(console);
  console.at(0);
  console.at(20);
  CHECK(console.err.empty());
  console.reporter().message(progress::Level::warning, "a source was dropped");
  CHECK(console.err == "warning: a source was dropped\n");
}

TEST_CASE("the bar is drawn over itself, messages stand above it, and it is gone at the end") {
  TestConsole console{{.color = ui::ColorMode::never}, true};
  const auto part = start_part(console);
  console.at(0);
  fetch(*part, 10 * k_gb);
  console.at(10);
  CHECK(screen_after(console.err) ==
        "  images_003  fetching    10.0 GB of 40.0 GB\n"
        "fetch [####...............] 25 %  10.0 GB of 40.0 GB  1.0 GB/s  about 35 s left\n");
  console.reporter().message(progress::Level::info, "hello");
  CHECK(screen_after(console.err).starts_with("hello\n  images_003"));
  part->phase = progress::PartPhase::done;
  console.at(11);
  CHECK(screen_after(console.err).starts_with("hello\nfetch ["));
  console.core.end_progress();
  CHECK(screen_after(console.err) == "hello\n");
  console.at(12);
  CHECK(screen_after(console.err) == "hello\n");
}

TEST_CASE("results do not mix with the bar on the same terminal") {
  std::string terminal;
  ui::ConsoleCore core{
      std::make_unique<StringStream>(terminal, true), std::make_unique<StringStream>(terminal, true), {}};
  core.reporter().totals(k_gb, 0);
  core.tick({});
  core.out("result\n");
  CHECK(screen_after(terminal).starts_with("result\nworking"));
}

TEST_CASE("no drawn line is as wide as the terminal") {
  const int columns = GENERATE(1, 10, 20, 40, 79, 120);
  TestConsole console{{}, true, columns};
  start_part(console, "a-part-with-a-rather-long-name-\xe6\x97\xa5\xe6\x9c\xac");
  console.reporter().waiting("hub: rate limited, next request in 42 s");
  console.at(0);
  std::string line;
  for (const char c : screen_after(console.err) + '\n') {
    if (c != '\n') {
      line += c;
      continue;
    }
    CHECK(static_cast<int>(line.size()) <
          std::max(columns, 2) + 6);  // the two wide characters take six bytes
    line.clear();
  }
}

TEST_CASE("what is waited for shows in the line") {
  TestConsole console;
  start_part(console);
  console.reporter().waiting("hub: rate limited, next request in 42 s");
  console.at(0);
  console.at(10);
  CHECK(console.take_err() ==
        "fetch 0 B of 40.0 GB (0 %), 0 B/s, waiting: hub: rate limited, next request in 42 s; fetching "
        "images_003\n");
  console.reporter().waiting("");
  console.at(20);
  CHECK(console.take_err() == "fetch 0 B of 40.0 GB (0 %), 0 B/s; fetching images_003\n");
}

TEST_CASE("verify has a bar of its own, by what was read") {
  TestConsole console;
  fetch(*start_part(console), 40 * k_gb);
  console.at(0);
  console.reporter().phase("verify");
  console.reporter().totals(2 * k_gb, 0);
  const auto part = console.reporter().part("bundle", 2 * k_gb);
  part->phase = progress::PartPhase::fetching;
  console.at(1);
  part->bytes_done = k_gb;
  console.at(11);
  CHECK(console.err == "verify 1.0 GB of 2.0 GB (50 %), 100 MB/s, about 15 s left; reading bundle\n");
}

TEST_CASE("json progress is one object a second on stderr") {
  TestConsole console{{.progress = ProgressMode::json}};
  const auto part = start_part(console);
  console.at(0);
  fetch(*part, 4 * k_gb);
  console.at(1);
  console.at(1.5);
  console.reporter().message(progress::Level::warning, "a \"word\"");
  CHECK(console.err ==
        "{\"event\":\"progress\",\"phase\":\"fetch\",\"bytes_done\":4000000000,\"bytes_total\":40000000000,"
        "\"bytes_per_second\":4000000000,\"seconds_left\":9,\"active\":[{\"name\":\"images_003\",\"phase\":"
        "\"fetching\","
        "\"bytes_done\":4000000000,\"bytes_total\":40000000000,\"entries_done\":0}]}\n"
        "{\"event\":\"message\",\"level\":\"warning\",\"text\":\"a \\\"word\\\"\"}\n");
}

TEST_CASE("quiet and verbose decide on messages, never on problems") {
  struct Row {
    bool quiet;
    int verbose;
    std::string shown;
  };
  const std::vector<Row> rows{
      {false, 0, "info\nwarning: careful\n"}, {false, 1, "detail\ninfo\nwarning: careful\n"}, {true, 0, ""}};
  for (const Row& row : rows) {
    TestConsole console{{.quiet = row.quiet, .verbose = row.verbose}};
    console.reporter().message(progress::Level::detail, "detail");
    console.reporter().message(progress::Level::info, "info");
    console.reporter().message(progress::Level::warning, "careful");
    CHECK(console.take_err() == row.shown);
    console.core.print_problem({.kind = ErrorKind::disk, .thing = "no space", .hint = "free some"});
    CHECK_THAT(console.err, Catch::StartsWith("decant: no space\n") && Catch::Contains("free some\n"));
  }
}

TEST_CASE("colour follows the terminal, NO_COLOR and the flag") {
  struct Row {
    ui::ColorMode mode;
    bool terminal, no_color;
    bool colored;
  };
  using ui::ColorMode;
  const std::vector<Row> rows{
      {ColorMode::automatic, true, false, true}, {ColorMode::automatic, false, false, false},
      {ColorMode::automatic, true, true, false}, {ColorMode::always, false, false, true},
      {ColorMode::always, true, true, true},     {ColorMode::never, true, false, false},
  };
  for (const Row& row : rows) {
    const TestConsole console{{.color = row.mode, .no_color_env = row.no_color}, row.terminal};
    CHECK(console.core.color_out() == row.colored);
    CHECK(console.core.color_err() == row.colored);
  }
}

TEST_CASE("nothing from outside reaches the terminal as a control sequence") {
  TestConsole console;
  const std::string evil = "x\x1b]0;title\x07\r\xe2\x80\xae";
  start_part(console, evil);
  console.reporter().phase(evil);
  console.reporter().waiting(evil);
  console.reporter().finding(evil);
  console.reporter().message(progress::Level::info, evil);
  console.reporter().problem({.kind = ErrorKind::bug, .thing = evil});
  console.at(0);
  console.at(10);
  CHECK(console.err.find('\x1b') == std::string::npos);
  CHECK(console.err.find('\r') == std::string::npos);
  CHECK(console.err.find('\x07') == std::string::npos);
}

TEST_CASE("findings are shown as found, the first twenty") {
  TestConsole console;
  for (int i = 0; i < 30; ++i) console.reporter().finding("missing  bundle: f" + std::to_string(i));
  CHECK_THAT(console.err, Catch::StartsWith("finding: missing  bundle: f0\n") && Catch::Contains("f19\n") &&
                              Catch::EndsWith("further findings are counted here and listed at the end\n"));
  CHECK(console.err.find("f20") == std::string::npos);
}

TEST_CASE("the real console draws from its own thread and ends when told") {
  std::string out;
  std::string err;
  const auto console = ui::make_console(std::make_unique<StringStream>(out, true),
                                        std::make_unique<StringStream>(err, true), {}, system_clock());
  console->reporter().totals(k_gb, 0);
  const auto part = console->reporter().part("data", k_gb);
  part->phase = progress::PartPhase::fetching;
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) {
    workers.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        part->bytes_done += 100;
        if (n % 100 == 0) console->reporter().message(progress::Level::info, "line");
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  console->end_progress();
  const std::string screen = screen_after(err);
  CHECK(std::count(screen.begin(), screen.end(), '\n') == 40);
  CHECK(screen.find("data") == std::string::npos);
}
