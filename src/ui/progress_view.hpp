// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decant/progress/reporter.hpp"

// Progress as pure functions of one snapshot: no clock, no stream, no thread.
namespace decant::ui {

struct PartSnapshot {
  std::string name;
  progress::PartPhase phase = progress::PartPhase::waiting;
  std::uint64_t bytes_total = 0;
  std::uint64_t bytes_done = 0;
  std::uint64_t bytes_unpacked = 0;
  std::uint64_t entries_done = 0;
};

struct Snapshot {
  std::string phase;  // of the command: "fetch", "verify", …
  std::vector<PartSnapshot> parts;
  std::uint64_t bytes_total = 0;
  std::uint64_t bytes_done = 0;
  std::optional<std::uint64_t> rate;
  std::string waiting;
  std::uint64_t findings = 0;
};

// "about 40 s", "about 2 min", "about 3 h 05 min"; empty when nothing can be said.
std::string time_left(const Snapshot& snapshot);
// One line without newline: `fetch 12.3 GB of 40.0 GB (31 %), 210 MB/s, about 2 min left; unpacking
// images_003`.
std::string plain_line(const Snapshot& snapshot);
// The active parts and one bar, each line at most `columns - 1` wide; without newlines.
std::vector<std::string> bar_lines(const Snapshot& snapshot, int columns);
// {"event":"progress", …} without newline.
std::string json_line(const Snapshot& snapshot);

}  // namespace decant::ui
