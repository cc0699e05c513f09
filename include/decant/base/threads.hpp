// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace decant {

// Threads that carry the first exception to the one who waits. The destructor joins (whatever they wait for
// must have been closed by then) and drops the exception.
class ThreadGroup {
 public:
  ThreadGroup() = default;
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // `on_failure` (may be empty) runs once in the failing thread after its exception was kept: close queues
  // there.
  void start(std::function<void()> work, std::function<void()> on_failure = {});
  // The same where fewer threads will do: false when the system refuses one (too many processes, no memory).
  bool try_start(std::function<void()> work, std::function<void()> on_failure = {});
  bool failed() const;
  // Joins all and rethrows the first exception.
  void wait();

 private:
  mutable std::mutex mutex_;
  std::exception_ptr first_;
  std::vector<std::thread> threads_;
};

}  // namespace decant
