// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

#include "decant/base/clock.hpp"
#include "decant/base/stop.hpp"

namespace decant {

// Bytes per second for all threads together: a token bucket that holds a quarter of a second. What has
// arrived is paid for afterwards, so pieces of any size pass, and their sum keeps to the rate. Thread-safe.
class RateLimit {
 public:
  RateLimit(std::uint64_t bytes_per_second, Clock& clock) : rate_{bytes_per_second}, clock_{clock} {}

  // Waits until `bytes` are paid for, behind those who came earlier. A rate of 0 is no limit. Throws
  // Interrupted.
  void pay(std::uint64_t bytes, const Stop& stop);

 private:
  std::chrono::nanoseconds book(std::uint64_t bytes);

  const std::uint64_t rate_;
  Clock& clock_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point paid_until_{};
};

}  // namespace decant
