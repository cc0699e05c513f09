// SPDX-License-Identifier: Apache-2.0
#include "decant/base/rate_limit.hpp"

#include <algorithm>

namespace decant {
namespace {

constexpr std::chrono::milliseconds k_burst{250};

}  // namespace

void RateLimit::pay(std::uint64_t bytes, const Stop& stop) {
  if (rate_ == 0) return;
  // Less than a millisecond is left as a debt: the next piece waits for it.
  const auto wait = std::chrono::floor<std::chrono::milliseconds>(book(bytes));
  if (wait.count() > 0) clock_.sleep(wait, stop);
}

std::chrono::nanoseconds RateLimit::book(std::uint64_t bytes) {
  const std::lock_guard lock{mutex_};
  const auto now = clock_.now();
  const double seconds = static_cast<double>(bytes) / static_cast<double>(rate_);
  const auto price =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>{seconds});
  paid_until_ = std::max(paid_until_, now - k_burst) + price;
  return paid_until_ - now;
}

}  // namespace decant
