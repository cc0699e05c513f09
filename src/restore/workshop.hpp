// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
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

  // Places that are read in place, by number from 0: the further local ones, then the repo's own if it is a
  // directory. nullptr: there are no more. `next` is the place's number plus one.
  source::Source* place_to_read(std::size_t number, std::size_t& next);
  // True when it is the repo's own: behind it there is nothing.
  bool is_last(const source::Source& place);
  // A local place had wrong bytes. After two such objects it is used no more in this run.
  void count_lie(const source::Source& place);
  // Over the further places that need a network, and the repo's own as the last.
  fetch::Downloader& downloader();
  // Places that were dropped in this run.
  std::vector<std::string> dropped();

  Prepared& prepared;
  ByteBudget budget;
  std::atomic<std::uint64_t> bytes_written{0};  // of unpacked content
  int stage_threads;
  int lanes;

 private:
  class OwnPlace;
  source::Source& own_place();

  std::mutex mutex_;
  std::map<const source::Source*, int> lies_;
  std::unique_ptr<source::Source> own_;  // the repo's own, opened at its first use
  source::Source* own_directory_ = nullptr;
  std::vector<std::string> dropped_;
  std::mutex repository_mutex_;  // of the first use of the repo, from whichever thread
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
