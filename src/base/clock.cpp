// SPDX-License-Identifier: Apache-2.0
#include "decant/base/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <thread>

namespace decant {
namespace {

class SystemClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override { return std::chrono::steady_clock::now(); }

  std::int64_t wall_seconds() const override {
    return std::chrono::duration_cast<std::chrono::seconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  // In slices: a signal handler can set the Stop but cannot wake a condition variable.
  void sleep(std::chrono::milliseconds duration, const Stop& stop) override {
    constexpr std::chrono::milliseconds k_slice{50};
    const auto end = now() + duration;
    for (;;) {
      stop.throw_if_requested();
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now());
      if (left.count() <= 0) return;
      std::this_thread::sleep_for(std::min(left, k_slice));
    }
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

std::string format_utc(std::int64_t wall_seconds) {
  const std::time_t time = wall_seconds;
  std::tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) return fmt::format("@{}", wall_seconds);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900L, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace decant
