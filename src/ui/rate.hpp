// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace decant::ui {

// Bytes per second over about the last ten seconds.
class RateMeter {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // `total` only grows; a smaller value than before starts the measurement anew.
  void sample(Time now, std::uint64_t total);
  // nullopt until a second has been seen.
  std::optional<std::uint64_t> bytes_per_second() const;

 private:
  struct Sample {
    Time at;
    std::uint64_t total;
  };
  std::deque<Sample> samples_;
};

}  // namespace decant::ui
