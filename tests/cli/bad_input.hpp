// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli_world.hpp"
#include "support/catch.hpp"

namespace decant::test {

// A command that must be refused: its exit code, words of its message, and whether the machine stays as it
// was.
struct BadInput {
  std::string name;
  std::function<Ran(World&)> act;
  int code;
  std::vector<std::string> words;
};

// Each in a world of its own. The message is on stderr, says what to do next, and nothing but what `act`
// itself wrote is written: everything below the world's directory has its stamps from before the command.
inline void check_cases(const std::vector<BadInput>& cases) {
  for (const auto& one : cases) {
    DYNAMIC_SECTION(one.name) {
      World world;
      world.forbid_writes();
      const auto ran = one.act(world);
      INFO(ran);
      CHECK(ran.code == one.code);
      for (const auto& word : one.words) CHECK(has(ran.err, {word}));
      CHECK(has(ran.err, {"next:"}));
    }
  }
}

}  // namespace decant::test
