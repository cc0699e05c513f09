// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace decant::fs {

struct ProcStat {
  char state = '?';
  std::uint64_t start_time = 0;  // clock ticks since boot
};

// /proc/PID/stat. The program's name in it may hold anything, also blanks and ')'.
std::optional<ProcStat> parse_proc_stat(std::string_view text);

}  // namespace decant::fs
