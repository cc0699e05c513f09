// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decant/base/clock.hpp"
#include "decant/base/fd.hpp"
#include "support/test_hub.hpp"

// Ways to run a command: in this process, in a forked child, as the program.
namespace decant::test {

using Environment = std::map<std::string, std::string>;

struct Outcome {
  int code = -1;   // exit status; -1: ended by a signal
  int signal = 0;  // that signal
  std::string out;
  std::string err;
  std::string all() const { return out + err; }
};

// cli::run in this process. The hub may live here, too.
Outcome run_here(std::vector<std::string> arguments, const Environment& environment = {},
                 Clock* clock = nullptr);

// cli::run in a forked child, with each mutating call shown to `hook`. This process must have no other
// threads: the hub has to be a HubProcess.
using Hook = std::function<int(std::string_view call, unsigned long number)>;
Outcome run_forked(std::vector<std::string> arguments, const Hook& hook = {});
inline constexpr int k_stopped_here = 77;  // exit status a hook ends a child with

// The built program.
class Program {
 public:
  explicit Program(const std::vector<std::string>& arguments, const Environment& environment = {},
                   const std::vector<std::string>& wrapper = {});
  ~Program();  // kills what is still running
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  bool has_ended();
  void wait_stopped() const;  // until a SIGSTOP took effect
  Outcome wait();
  long peak_kib() const { return peak_kib_; }  // resident memory; after wait()

 private:
  bool reap(int options);

  pid_t pid_ = -1;
  Fd out_;
  Fd err_;
  std::optional<int> status_;
  long peak_kib_ = 0;
};

Outcome run_program(const std::vector<std::string>& arguments, const Environment& environment = {});

// A TestHub in a process of its own.
class HubProcess {
 public:
  explicit HubProcess(const std::function<void(TestHub&)>& fill);
  ~HubProcess();
  HubProcess(const HubProcess&) = delete;
  HubProcess& operator=(const HubProcess&) = delete;
  const std::string& endpoint() const { return endpoint_; }
  std::uint64_t bytes_served() const;  // by the CDN, so far

 private:
  std::string ask(char what) const;

  pid_t pid_ = -1;
  Fd to_;
  Fd from_;
  std::string endpoint_;
};

// Waits, looking again and again, until `is_so` or 20 s have passed; false then.
bool wait_until(const std::function<bool()>& is_so);

// Sleeps cost nothing and are counted.
class CountingClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override;
  std::int64_t wall_seconds() const override { return 1'790'000'000; }
  void sleep(std::chrono::milliseconds duration, const Stop& stop) override;
  std::chrono::milliseconds slept() const { return std::chrono::milliseconds{slept_ms_.load()}; }

 private:
  std::atomic<std::int64_t> slept_ms_{0};
};

// DECANT_SEED, or a new one; printed so that a failure can be run again.
std::uint64_t seed_of_this_run();
// DECANT_SOAK multiplies the counts of random tests.
unsigned long soak_factor();

}  // namespace decant::test
