// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "decant/base/stop.hpp"

namespace decant {

// Time as the engines see it; tests put their own in its place. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::chrono::steady_clock::time_point now() const = 0;
  // Seconds since 1970; informative only, never used for a deadline of ours.
  virtual std::int64_t wall_seconds() const = 0;
  // Returns early, by throwing Interrupted, when stop is requested.
  virtual void sleep(std::chrono::milliseconds duration, const Stop& stop) = 0;
};

Clock& system_clock();

// "2026-11-30T15:00:00Z".
std::string format_utc(std::int64_t wall_seconds);

}  // namespace decant
