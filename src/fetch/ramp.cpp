// SPDX-License-Identifier: Apache-2.0
#include "ramp.hpp"

#include <algorithm>

namespace decant::fetch {
namespace {

constexpr int k_first = 4;
constexpr std::chrono::milliseconds k_settle{100};  // new connections are made, old ones make room
constexpr std::chrono::milliseconds k_measure{250};
constexpr std::chrono::seconds k_longest_pause{60};
// Of what twice as many could bring at best, this share must come: less is noise.
constexpr double k_worth = 0.3;

}  // namespace

Ramp::Ramp(int most) : most_{std::max(1, most)}, allowed_{std::min(k_first, most_)}, before_{allowed_} {}

void Ramp::look(Time now, std::uint64_t bytes, int busy) {
  if (allowed_ == most_ && !on_trial_) return;
  if (busy < allowed_) {
    window_ = Window::none;
    return;
  }
  const bool nothing_yet = window_ == Window::settling && bytes == start_bytes_;
  const auto needed = window_ == Window::settling ? k_settle : k_measure;
  if (window_ != Window::none && (now - start_ < needed || nothing_yet)) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate = static_cast<double>(bytes - start_bytes_) / seconds;
  const bool measured = window_ == Window::measuring;
  window_ = window_ == Window::none ? Window::settling : Window::measuring;
  start_ = now;
  start_bytes_ = bytes;
  if (measured) judge(now, rate);
}

void Ramp::judge(Time now, double rate) {
  if (on_trial_) {
    const double more = static_cast<double>(allowed_) / before_ - 1;
    if (rate < rate_before_ * (1 + k_worth * more)) {
      allowed_ = before_;
      return rest(now);
    }
    on_trial_ = false;
    pause_ = std::chrono::seconds{5};
  } else if (now < no_trial_before_) {
    return;
  }
  before_ = allowed_;
  rate_before_ = rate;
  raise();
}

void Ramp::raise() {
  if (allowed_ == most_) return;
  allowed_ = std::min(most_, 2 * allowed_);
  on_trial_ = true;
  window_ = Window::none;
}

void Ramp::rest(Time now) {
  on_trial_ = false;
  window_ = Window::none;
  no_trial_before_ = now + pause_;
  pause_ = std::min(2 * pause_, k_longest_pause);
}

void Ramp::push_back(Time now) {
  allowed_ = std::max(1, (on_trial_ ? before_ : allowed_) / 2);
  before_ = allowed_;
  pause_ = k_longest_pause;
  rest(now);
}

}  // namespace decant::fetch
