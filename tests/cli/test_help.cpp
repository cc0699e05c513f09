// SPDX-License-Identifier: Apache-2.0
#include <regex>
#include <set>
#include <sstream>

#include "cli_world.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

// Help, docs pages and the program say the same.
namespace decant::test {
namespace {

std::set<std::string> found(const std::string& text, const std::regex& form) {
  std::set<std::string> words;
  for (std::sregex_iterator it{text.begin(), text.end(), form}, end; it != end; ++it) words.insert((*it)[1]);
  return words;
}

const std::regex k_option{"(?:^|[^A-Za-z0-9_/=-])(--[a-z][a-z0-9-]*|-[a-z](?![a-z0-9-]))"};

// The column of options: lines such as "  -q,--quiet   Only results and errors".
std::set<std::string> options_of(const std::string& help) {
  std::set<std::string> options;
  std::istringstream lines{help};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::string first;
    if (words >> first; first.starts_with('-')) options.merge(found(first, k_option));
  }
  return options;
}

// The lines that show all options of a page: a command may have commands below it.
std::vector<Args> lines_of(const std::string& command) {
  if (command != "cache") return {{command, "--help"}};
  return {{"cache", "ls", "--help"}, {"cache", "verify", "--help"}, {"cache", "prune", "--help"}};
}

// What a page says of other commands is not about its own.
std::string without_other_commands(const std::string& text, const std::string& command) {
  const std::regex span{"`decant ([a-z]+)[^`]*`"};
  std::string out;
  std::sregex_iterator it{text.begin(), text.end(), span};
  std::size_t at = 0;
  for (const std::sregex_iterator end; it != end; ++it) {
    out += text.substr(at, static_cast<std::size_t>(it->position()) - at);
    if ((*it)[1] == command) out += it->str();
    at = static_cast<std::size_t>(it->position() + it->length());
  }
  return out + text.substr(at);
}

}  // namespace

TEST_CASE("every option in --help is on its docs page, and the other way round") {
  World world;
  for (const std::string command : {"restore", "plan", "fetch", "verify", "status", "cache"}) {
    DYNAMIC_SECTION(command) {
      std::set<std::string> in_help;
      for (const auto& line : lines_of(command)) {
        const auto help = world.run(line);
        REQUIRE(help.code == 0);
        CHECK(help.err.empty());
        in_help.merge(options_of(help.out));
      }
      in_help.erase("--help");
      in_help.erase("-h");
      const auto page = read_file(std::string{DECANT_DOCS} + "/commands/" + command + ".md");
      auto on_page = found(without_other_commands(page, command), k_option);
      if (command == "plan") on_page.erase("--plan-only");
      for (const auto& option : in_help) {
        INFO(option << " is not on the page of " << command);
        CHECK(on_page.contains(option));
      }
      for (const auto& option : on_page) {
        INFO(option << " is not in the help of " << command);
        CHECK(in_help.contains(option));
      }
    }
  }
}

TEST_CASE("every environment variable in the help of restore is on its page") {
  World world;
  const std::regex variable{"\\[(DECANT_[A-Z_]+)\\]"};
  const auto page = read_file(std::string{DECANT_DOCS} + "/commands/restore.md");
  const auto help = world.run({"restore", "--help"});
  const auto names = found(help.out, variable);
  CHECK(names.size() >= 8);
  for (const auto& name : names) CHECK(has(page, {name}));
}

TEST_CASE("every exit code of the help is in the table of exit codes") {
  World world;
  const auto help = world.run({"--help"});
  CHECK(help.code == 0);
  const auto page = read_file(std::string{DECANT_DOCS} + "/exit_codes.md");
  const std::regex code{"(?:^|[ ,:])([0-9]+) [a-z]"};
  for (const auto& number : found(help.out.substr(help.out.find("Exit codes")), code))
    CHECK(has(page, {"| " + number + " |"}));
}

TEST_CASE("with --version and --help answer on stdout and are exit 0") {
  World world;
  const auto version = world.run({"--version"});
  CHECK(version.code == 0);
  CHECK(version.out.starts_with("decant "));
  CHECK(version.err.empty());
}

TEST_CASE("the help texts") {
  World world;
  for (const std::string command : {"restore", "plan", "fetch", "verify", "status"})
    check_golden("golden/help_" + command + ".txt", world.run({command, "--help"}).out);
  for (const std::string command : {"ls", "verify", "prune"})
    check_golden("golden/help_cache_" + command + ".txt", world.run({"cache", command, "--help"}).out);
  check_golden("golden/help.txt", world.run({"--help"}).out);
}

}  // namespace decant::test
