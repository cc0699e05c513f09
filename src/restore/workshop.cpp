// SPDX-License-Identifier: Apache-2.0
#include "workshop.hpp"

#include <algorithm>
#include <thread>

namespace decant::restore {

Workshop::Workshop(Prepared& p) : prepared{p}, budget{p.request.memory} {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int jobs = p.request.jobs > 0 ? p.request.jobs : cores;
  stage_threads = std::clamp(jobs / 2 + 1, 1, 4);
  lanes = std::clamp(jobs, 1, 8);
}

std::vector<source::Source*> Workshop::sources() {
  std::lock_guard lock{mutex_};
  return {&prepared.repository().objects()};
}

fetch::Downloader& Workshop::downloader() {
  const auto places = sources();
  std::lock_guard lock{mutex_};
  if (!downloader_) {
    fetch::FetchOptions options;
    options.connections = prepared.request.connections;
    options.limit_rate = prepared.request.limit_rate;
    downloader_ = std::make_unique<fetch::Downloader>(places, options, *prepared.services.clock,
                                                      prepared.reporter(), prepared.stop());
  }
  return *downloader_;
}

void start_workers(ThreadGroup& threads, std::size_t count, const std::function<void()>& work) {
  for (std::size_t i = 0; i < count; ++i) {
    if (threads.try_start(work)) continue;
    if (i > 0) return;
    throw Error{ErrorKind::disk,
                "cannot start a thread: the limit of threads, processes or memory is reached",
                "raise the limit (ulimit -u, ulimit -v), or use --jobs 1 --connections 1"};
  }
}

}  // namespace decant::restore
