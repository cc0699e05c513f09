// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decant/base/clock.hpp"
#include "decant/base/stop.hpp"
#include "decant/ui/ui.hpp"

namespace decant::cli {

// Everything a command takes from the process around it, so that whole commands run inside a test.
struct Io {
  std::unique_ptr<ui::Stream> out;
  std::unique_ptr<ui::Stream> err;
  std::function<std::optional<std::string>(const std::string& name)> getenv;
  Clock* clock = nullptr;
  Stop* stop = nullptr;
};

// Runs one command line (without the program's name) and returns its exit status. Never throws, never exits.
int run(std::vector<std::string> arguments, Io io);

}  // namespace decant::cli
