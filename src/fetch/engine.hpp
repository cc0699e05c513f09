// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "download.hpp"
#include "landing_sink.hpp"

namespace decant::fetch {

// A flight and the download it is for.
struct Job {
  std::shared_ptr<ActiveDownload> download;
  std::shared_ptr<Flight> flight;
};

// The connections' threads, each busy with one flight or waiting for one, and the thread that watches them.
class Engine {
 public:
  explicit Engine(std::shared_ptr<Shared> shared);
  ~Engine();  // stops and joins
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // As many connections as are allowed by now. Throws Error{disk} when the system refuses the first.
  void start_threads();

 private:
  void work();
  std::optional<Job> next_job_locked();
  void run(const Job& job);

  // One flight: to its end, or until its rest is to be asked for in another way (what has not landed goes
  // back).
  void transfer(const Job& job);
  // Whether the flight goes on after an outcome, its `failures`-th in a row without progress; waits before it
  // does.
  bool goes_on_after(const Job& job, const LandingSink& sink, source::ReadOutcome outcome, int failures);
  void range_was_ignored(const Job& job);
  source::ReadOutcome read(const Job& job, LandingSink& sink);
  void begin_reading(const Job& job);
  bool end_reading(const Job& job);  // true when it was taken over
  void wait(const Job& job, std::chrono::milliseconds duration, const std::string& why);
  void wait_while_paused(const Job& job);
  void pause(std::size_t source, std::chrono::milliseconds duration);
  const std::string& name_of(const Job& job) const { return shared_->names[job.flight->source]; }

  // Hands the outer stop on, tells other processes that we live, and looks at how the connections do.
  void watch();
  void stop_all(int signal);
  void beat();
  bool look_at_ramp();  // true: there may be more connections now
  void look_for_laggards();
  std::optional<std::string> take_over_if_lagging_locked(ActiveDownload& download);
  std::optional<double> rate_of_others_locked(const Flight& flight) const;

  const std::shared_ptr<Shared> shared_;
  int busy_ = 0;     // connections with a flight; guarded by the shared mutex
  int waiting_ = 0;  // connections that wait; the same
  std::condition_variable closing_;
  std::chrono::steady_clock::time_point last_beat_;  // of the watcher
  std::mutex threads_mutex_;
  std::thread watcher_;
  std::vector<std::thread> connected_;
};

}  // namespace decant::fetch
