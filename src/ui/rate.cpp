// SPDX-License-Identifier: Apache-2.0
#include "rate.hpp"

namespace decant::ui {
namespace {
constexpr std::chrono::seconds k_window{10};
constexpr std::chrono::seconds k_least{1};
constexpr std::chrono::milliseconds k_step{200};  // more samples say nothing more
}  // namespace

void RateMeter::sample(Time now, std::uint64_t total) {
  if (!samples_.empty() && total < samples_.back().total) samples_.clear();
  if (samples_.size() > 1 && now - samples_[samples_.size() - 2].at < k_step) samples_.pop_back();
  samples_.push_back({now, total});
  // One sample older than the window stays: it is where the window begins.
  while (samples_.size() > 2 && now - samples_[1].at >= k_window) samples_.pop_front();
}

std::optional<std::uint64_t> RateMeter::bytes_per_second() const {
  if (samples_.size() < 2) return std::nullopt;
  const auto elapsed = samples_.back().at - samples_.front().at;
  if (elapsed < k_least) return std::nullopt;
  const double seconds = std::chrono::duration<double>(elapsed).count();
  return static_cast<std::uint64_t>(static_cast<double>(samples_.back().total - samples_.front().total) /
                                    seconds);
}

}  // namespace decant::ui
