// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "decant/base/error.hpp"

namespace decant {

// The one stop request of a process: set by a signal handler (async-signal-safe) or a test, polled by every
// loop and at least every 100 ms by every wait.
class Stop {
 public:
  void request(int signal) noexcept {
    int none = 0;
    signal_.compare_exchange_strong(none, signal);
  }
  bool requested() const noexcept { return signal_.load(std::memory_order_relaxed) != 0; }
  int signal() const noexcept { return signal_.load(std::memory_order_relaxed); }
  void throw_if_requested() const {
    if (requested()) throw Interrupted{signal()};
  }

 private:
  std::atomic<int> signal_{0};
};

}  // namespace decant
