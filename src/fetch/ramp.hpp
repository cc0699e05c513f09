// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace decant::fetch {

// How many connections are worth having: few at first, twice as many while that brings clearly more bytes a
// second, back to the number before when it does not. After that it is tried again now and then, as lines
// change. Pure: the caller tells the time and what has arrived, and locks.
class Ramp {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Ramp(int most);

  int allowed() const { return allowed_; }
  // `bytes`: all that has arrived so far. `busy`: connections at work; with fewer than allowed there is
  // nothing to learn.
  void look(Time now, std::uint64_t bytes, int busy);
  // A server asked for a pause: half of the connections from here on, and no more of them for a while.
  void push_back(Time now);

 private:
  void judge(Time now, double rate);
  void raise();
  void rest(Time now);

  const int most_;
  int allowed_;
  int before_;  // the number that is compared with, and its rate
  double rate_before_ = 0;
  bool on_trial_ = false;  // allowed_ is more than before_, to see what it brings
  Time no_trial_before_{};
  std::chrono::seconds pause_{5};  // between trials that brought nothing; grows

  enum class Window : std::uint8_t { none, settling, measuring };
  Window window_ = Window::none;
  Time start_{};
  std::uint64_t start_bytes_ = 0;
};

}  // namespace decant::fetch
