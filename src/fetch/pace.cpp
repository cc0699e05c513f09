// SPDX-License-Identifier: Apache-2.0
#include "pace.hpp"

#include <algorithm>

#include "decant/base/bytes.hpp"

namespace decant::fetch {
namespace {

constexpr std::uint64_t k_telling_bytes = k_mib;
constexpr double k_range_seconds = 4;
constexpr std::uint64_t k_range_at_unknown_rate = 8 * k_mib;
constexpr double k_lag = 8;          // times slower than the others
constexpr double k_lag_seconds = 5;  // what is left would take longer than this
constexpr int k_longest_watch_doublings = 4;

std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace

void Pace::note(std::uint64_t bytes, std::chrono::nanoseconds time) {
  if (bytes < k_telling_bytes || time.count() <= 0) return;
  const double rate = static_cast<double>(bytes) / std::chrono::duration<double>(time).count();
  rate_ = rate_ == 0 ? rate : 0.7 * rate_ + 0.3 * rate;
}

std::uint64_t longest_run(const RunLimits& limits) {
  const auto connections = static_cast<std::uint64_t>(std::max(1, limits.connections));
  const std::uint64_t at_rate =
      limits.rate > 0 ? static_cast<std::uint64_t>(std::min(limits.rate * k_range_seconds,
                                                            static_cast<double>(limits.longest_range)))
                      : k_range_at_unknown_rate;
  const std::uint64_t bytes =
      std::min({limits.longest_range, at_rate, divided_up(limits.window, connections)});
  const std::uint64_t share = divided_up(limits.left, 2 * connections);
  return std::max<std::uint64_t>(1, std::min(bytes / limits.chunk_bytes, share));
}

bool is_lagging(const Lag& lag) {
  return lag.own * k_lag < lag.others && lag.own * k_lag_seconds < static_cast<double>(lag.left);
}

std::chrono::seconds watched_for(int takeovers) {
  return std::chrono::seconds{5} * (1 << std::clamp(takeovers, 0, k_longest_watch_doublings));
}

}  // namespace decant::fetch
