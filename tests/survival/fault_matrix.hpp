// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runs.hpp"
#include "world.hpp"

namespace decant::test {

// Time that runs twenty times as fast, so that what lasts seconds is tried in a moment; sleeps cost nothing.
class FastClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override;
  std::int64_t wall_seconds() const override { return k_wall; }
  void sleep(std::chrono::milliseconds duration, const Stop& stop) override;

  static constexpr std::int64_t k_wall = 1'790'000'000;
  std::chrono::milliseconds longest_sleep() const { return std::chrono::milliseconds{longest_.load()}; }
  int sleeps() const { return sleeps_; }
  std::function<void()> on_sleep;

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> slept_{0};
  std::atomic<std::int64_t> longest_{0};
  std::atomic<int> sleeps_{0};
};

// When a fault strikes.
enum class When { fresh, resuming, last_byte };
const char* to_string(When when);

// One way of a network to go wrong, and what a restore must make of it.
struct FaultCase {
  enum class At { answer, cut, stall, flip };  // what stands at the byte where it strikes

  std::string name;
  Fault fault;  // of the request that holds that byte
  At at = At::answer;
  int code = 0;
  std::vector<std::string> words = {};
  std::vector<std::string> flags = {};
  bool fetched_anew = false;      // the part may come a second time
  std::chrono::seconds waits{0};  // at least, once
  std::vector<Fault> after = {};  // further faults, in place once the first one strikes
  std::chrono::seconds waits_at_most{302};
};

// A hub with a release of two parts, `images_0` and `images_1`, the second of which a case strikes; a run
// that was killed when it had the first and half of the second.
class FaultMatrix {
 public:
  FaultMatrix();

  // Runs the case in each of the three states: exit code, words, bytes fetched, the tree; and once more
  // without the fault when it could not succeed with it. No output, file or request to another origin may
  // hold the token.
  void check(const FaultCase& one);
  void check(const FaultCase& one, When when);

  TestHub hub;

 private:
  std::uint64_t position(When when) const;
  void prepare(const World& world, When when) const;
  Outcome run(const World& world, const std::vector<std::string>& flags);
  void look_for_token(const World& world, const Outcome& outcome) const;
  std::uint64_t served() const;

  LargeRelease release_{8};
  std::string token_ = "hf_canary0123456789abcdef";
  World killed_;
  std::uint64_t had_when_killed_ = 0;
  FastClock* clock_ = nullptr;
};

}  // namespace decant::test
