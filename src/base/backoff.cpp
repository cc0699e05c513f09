// SPDX-License-Identifier: Apache-2.0
#include "decant/base/backoff.hpp"

#include <algorithm>

namespace decant {

std::optional<std::chrono::milliseconds> next_wait(const BackoffPolicy& policy, int failures,
                                                   std::optional<std::chrono::seconds> server_wait,
                                                   double random) {
  using std::chrono::milliseconds;
  if (failures >= policy.max_tries_without_progress) return std::nullopt;
  const auto share_of = [random](milliseconds most) {
    return milliseconds{static_cast<milliseconds::rep>(random * static_cast<double>(most.count()))};
  };
  if (server_wait) {
    // Compared in seconds first: a server may name a number of them that does not fit once multiplied.
    const auto cut = std::chrono::duration_cast<std::chrono::seconds>(policy.longest_server_wait);
    const milliseconds asked = *server_wait > cut ? policy.longest_server_wait : milliseconds{*server_wait};
    return std::max(asked, milliseconds{0}) + share_of(milliseconds{1000});
  }
  milliseconds most = policy.first;
  for (int i = 1; i < failures && most < policy.ceiling; ++i) most *= 2;
  return share_of(std::min(most, policy.ceiling));
}

}  // namespace decant
