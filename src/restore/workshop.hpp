// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "decant/base/threads.hpp"
#include "decant/fetch/downloader.hpp"
#include "prepared.hpp"

namespace decant::restore {

// The run's shared means: memory budget, sources, one downloader made at first need. Thread-safe.
class Workshop {
 public:
  explicit Workshop(Prepared& prepared);

  // The places that may have the objects, in order of preference; the repo's own is the last.
  std::vector<source::Source*> sources();
  fetch::Downloader& downloader();

  Prepared& prepared;
  ByteBudget budget;
  std::atomic<std::uint64_t> bytes_written{0};  // of unpacked content
  int stage_threads;
  int lanes;

 private:
  std::mutex mutex_;
  std::unique_ptr<fetch::Downloader> downloader_;
};

// Also when the scope is left by an exception: what had come counts for an interrupted run too.
class OnExit {
 public:
  explicit OnExit(std::function<void()> work) : work_{std::move(work)} {}
  ~OnExit() { work_(); }
  OnExit(const OnExit&) = delete;
  OnExit& operator=(const OnExit&) = delete;

 private:
  std::function<void()> work_;
};

// Starts up to `count` threads over the same work; fewer when the system refuses some, Error{disk} when it
// refuses all.
void start_workers(ThreadGroup& threads, std::size_t count, const std::function<void()>& work);

}  // namespace decant::restore
