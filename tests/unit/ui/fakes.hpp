// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "console_core.hpp"
#include "support/string_stream.hpp"

namespace decant::test {

// A console whose time is the test's: at(seconds) ticks it.
struct TestConsole {
  explicit TestConsole(ui::ConsoleOptions options = {}, bool terminal = false, int columns = 80)
      : core{std::make_unique<StringStream>(out, terminal, columns),
             std::make_unique<StringStream>(err, terminal, columns), options} {}

  progress::Reporter& reporter() { return core.reporter(); }
  void at(double seconds) {
    core.tick(std::chrono::steady_clock::time_point{} +
              std::chrono::milliseconds{static_cast<std::int64_t>(seconds * 1000)});
  }
  std::string take_err() { return std::exchange(err, {}); }

  std::string out;
  std::string err;
  ui::ConsoleCore core;
};

// What a terminal shows after `text`: understands \r, \n, ESC [ n A, ESC [ J and ESC [ K.
std::string screen_after(const std::string& text);

}  // namespace decant::test
