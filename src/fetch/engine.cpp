// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <system_error>

#include "decant/base/error.hpp"
#include "decant/fs/owner.hpp"

namespace decant::fetch {
namespace {

constexpr std::chrono::milliseconds k_watch_period{50};
constexpr std::chrono::seconds k_beat_period{fs::k_heartbeat_period_seconds * 2 / 3};

}  // namespace

Engine::Engine(std::shared_ptr<Shared> shared)
    : shared_{std::move(shared)}, last_beat_{shared_->clock.now()} {}

Engine::~Engine() {
  stop_all(SIGTERM);
  {
    const std::lock_guard lock{shared_->mutex};
    shared_->closed = true;
    shared_->active.clear();
    shared_->work.notify_all();
    shared_->changed.notify_all();
    closing_.notify_all();
  }
  if (watcher_.joinable()) watcher_.join();  // before the others: it may start some
  for (std::thread& thread : connected_) thread.join();
}

void Engine::start_threads() {
  const std::lock_guard lock{threads_mutex_};
  std::size_t allowed = 0;
  {
    const std::lock_guard shared_lock{shared_->mutex};
    allowed = static_cast<std::size_t>(shared_->ramp.allowed());
  }
  try {
    while (connected_.size() < allowed) connected_.emplace_back([this] { work(); });
    if (!watcher_.joinable()) watcher_ = std::thread{[this] { watch(); }};
  } catch (const std::system_error& error) {
    if (!connected_.empty() && watcher_.joinable()) return;  // fewer will do
    throw Error{ErrorKind::disk, fmt::format("cannot start a thread ({})", error.code().message()),
                "raise the limit of processes (ulimit -u)"};
  }
}

void Engine::work() {
  for (;;) {
    std::optional<Job> job;
    {
      std::unique_lock lock{shared_->mutex};
      shared_->work.wait(lock, [&] { return shared_->closed || (job = next_job_locked()).has_value(); });
      if (!job) return;
      ++busy_;
    }
    run(*job);
  }
}

std::optional<Job> Engine::next_job_locked() {
  if (shared_->closed || busy_ >= shared_->ramp.allowed()) return std::nullopt;
  for (const auto& download : shared_->active) {
    if (!download->wants_work_locked()) continue;
    const auto source = download->source_locked();
    if (!source) continue;
    if (auto flight = download->take_off_locked(*source)) return Job{download, std::move(flight)};
  }
  return std::nullopt;
}

void Engine::run(const Job& job) {
  ActiveDownload& download = *job.download;
  try {
    transfer(job);
  } catch (const Interrupted& interrupted) {
    if (!download.stop().requested()) download.end({}, interrupted);
  } catch (const Error& error) {
    download.end(error, {});
  } catch (const std::exception& error) {
    download.end(Error{ErrorKind::bug, fmt::format("{}: {}", download.name(), error.what())}, {});
  }
  const std::lock_guard lock{shared_->mutex};
  --busy_;
  download.land_locked(job.flight);
}

void Engine::watch() {
  std::unique_lock lock{shared_->mutex};
  while (!closing_.wait_for(lock, k_watch_period, [this] { return shared_->closed; })) {
    lock.unlock();
    if (shared_->stop.requested()) stop_all(shared_->stop.signal());
    if (shared_->clock.now() - last_beat_ >= k_beat_period) beat();
    if (look_at_ramp()) start_threads();
    look_for_laggards();
    lock.lock();
  }
}

void Engine::stop_all(int signal) {
  const std::lock_guard lock{shared_->mutex};
  for (const auto& weak : shared_->all) {
    if (const auto download = weak.lock()) download->request_stop_locked(signal);
  }
  shared_->changed.notify_all();
}

void Engine::beat() {
  last_beat_ = shared_->clock.now();
  std::vector<std::shared_ptr<ActiveDownload>> alive;
  {
    const std::lock_guard lock{shared_->mutex};
    std::erase_if(shared_->all, [](const auto& weak) { return weak.expired(); });
    for (const auto& weak : shared_->all) {
      if (auto download = weak.lock(); download && download->enter_locked())
        alive.push_back(std::move(download));
    }
  }
  for (const auto& download : alive) download->partial().heartbeat();
  const std::lock_guard lock{shared_->mutex};
  for (const auto& download : alive) download->leave_locked();
}

bool Engine::look_at_ramp() {
  const std::lock_guard lock{shared_->mutex};
  const int before = shared_->ramp.allowed();
  shared_->ramp.look(shared_->clock.now(), shared_->received, busy_ - waiting_);
  if (shared_->ramp.allowed() <= before) return false;
  shared_->work.notify_all();
  return true;
}

}  // namespace decant::fetch
