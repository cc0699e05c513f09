// SPDX-License-Identifier: Apache-2.0
#include "decant/fetch/downloader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <random>
#include <system_error>
#include <thread>
#include <utility>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/owner.hpp"
#include "download.hpp"
#include "landing_sink.hpp"

namespace decant::fetch {
namespace {

constexpr std::chrono::milliseconds k_watch_period{50};
constexpr std::chrono::seconds k_beat_period{fs::k_heartbeat_period_seconds * 2 / 3};

double random_share() {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(generator);
}

std::string in_seconds(std::chrono::milliseconds duration) {
  return format_duration(
      static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(duration).count()));
}

struct Job {
  std::shared_ptr<ActiveDownload> download;
  Run run;
  std::size_t source = 0;
  bool sequential = false;
};

}  // namespace

struct Downloader::Impl {
  Impl(std::vector<source::Source*> sources, FetchOptions options, Clock& clock, progress::Reporter& reporter,
       const Stop& stop)
      : shared{std::make_shared<Shared>(std::move(sources), options, clock, reporter, stop)},
        last_beat{clock.now()} {}

  void start_threads();
  void stop_all(int signal);

  // One connection.
  void work();
  std::optional<Job> next_job_locked();
  void run(const Job& job);
  void transfer(const Job& job);
  source::ReadOutcome read(const Job& job, LandingSink& sink);
  void wait(const Job& job, std::chrono::milliseconds duration, const std::string& why);
  void wait_while_paused(const Job& job);
  void pause(std::size_t source, std::chrono::milliseconds duration);
  const std::string& name_of(const Job& job) const { return shared->names[job.source]; }

  // Hands the outer stop on, and tells other processes that we live.
  void watch();
  void beat();

  std::shared_ptr<Shared> shared;
  int waiting = 0;  // connections that wait; guarded by the shared mutex
  std::condition_variable closing;
  std::chrono::steady_clock::time_point last_beat;  // of the watcher
  std::mutex threads_mutex;
  std::thread watcher;
  std::vector<std::thread> connected;
};

void Downloader::Impl::start_threads() {
  const std::lock_guard lock{threads_mutex};
  const auto connections = static_cast<std::size_t>(std::max(1, shared->options.connections));
  try {
    if (!watcher.joinable()) watcher = std::thread{[this] { watch(); }};
    while (connected.size() < connections) connected.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    if (!connected.empty()) return;  // fewer will do
    throw Error{ErrorKind::disk, fmt::format("cannot start a thread ({})", error.code().message()),
                "raise the limit of processes (ulimit -u)"};
  }
}

void Downloader::Impl::stop_all(int signal) {
  const std::lock_guard lock{shared->mutex};
  for (const auto& weak : shared->all) {
    if (const auto download = weak.lock()) download->stop().request(signal);
  }
  shared->changed.notify_all();
}

void Downloader::Impl::watch() {
  std::unique_lock lock{shared->mutex};
  while (!closing.wait_for(lock, k_watch_period, [this] { return shared->closed; })) {
    lock.unlock();
    if (shared->stop.requested()) stop_all(shared->stop.signal());
    if (shared->clock.now() - last_beat >= k_beat_period) beat();
    lock.lock();
  }
}

void Downloader::Impl::beat() {
  last_beat = shared->clock.now();
  std::vector<std::shared_ptr<ActiveDownload>> alive;
  {
    const std::lock_guard lock{shared->mutex};
    std::erase_if(shared->all, [](const auto& weak) { return weak.expired(); });
    for (const auto& weak : shared->all) {
      if (auto download = weak.lock(); download && download->enter_locked())
        alive.push_back(std::move(download));
    }
  }
  for (const auto& download : alive) download->partial().heartbeat();
  const std::lock_guard lock{shared->mutex};
  for (const auto& download : alive) download->leave_locked({});
}

void Downloader::Impl::work() {
  for (;;) {
    std::optional<Job> job;
    {
      std::unique_lock lock{shared->mutex};
      shared->work.wait(lock, [&] { return shared->closed || (job = next_job_locked()).has_value(); });
      if (!job) return;
    }
    run(*job);
  }
}

std::optional<Job> Downloader::Impl::next_job_locked() {
  if (shared->closed) return std::nullopt;
  for (const auto& download : shared->active) {
    if (!download->wants_work_locked()) continue;
    const auto source = download->source_locked();
    if (!source) continue;
    if (const auto run = download->take_run_locked(*source)) {
      return Job{download, *run, *source, download->is_sequential_locked(*source)};
    }
  }
  return std::nullopt;
}

void Downloader::Impl::run(const Job& job) {
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
  const std::lock_guard lock{shared->mutex};
  download.leave_locked(job.run);
}

// Returns when the run has landed, or when its rest is to be asked for in another way: what has not landed
// goes back.
void Downloader::Impl::transfer(const Job& job) {
  ActiveDownload& download = *job.download;
  LandingSink sink{download, job.run, job.source};
  std::uint64_t furthest = sink.position();
  int failures = 0;
  for (;;) {
    wait_while_paused(job);
    source::ReadOutcome outcome = read(job, sink);
    if (sink.is_done()) return;
    switch (outcome.end) {
      case source::ReadEnd::complete:  // but it is not
      case source::ReadEnd::interrupted:
        break;
      case source::ReadEnd::range_ignored:
        if (job.sequential) {
          return download.refuse(job.source,
                                 Problem{.kind = ErrorKind::network,
                                         .thing = fmt::format("{} sends {} neither whole nor in ranges",
                                                              name_of(job), download.name())});
        }
        if (download.set_sequential(job.source)) {
          shared->reporter.message(
              progress::Level::info,
              fmt::format("{}: {} comes as a whole only (the server ignores ranges); it is read "
                          "from its start over one connection",
                          name_of(job), download.name()));
        }
        return;
      case source::ReadEnd::wrong_object:
        outcome.problem.kind = ErrorKind::integrity;
        return download.refuse(job.source, outcome.problem);
      case source::ReadEnd::failed:
      case source::ReadEnd::absent:
        return download.refuse(job.source, outcome.problem);
    }

    const bool progress = sink.position() > furthest;
    furthest = std::max(furthest, sink.position());
    failures = progress ? 1 : failures + 1;
    const std::string place =
        fmt::format("connection lost at {} of {}", format_size(sink.position()), download.name());
    const auto next = next_wait(shared->options.backoff, failures, outcome.server_wait, random_share());
    if (!next) {
      Problem problem = std::move(outcome.problem);
      problem.kind = ErrorKind::network;
      if (problem.thing.empty()) problem.thing = fmt::format("{}: {}", name_of(job), place);
      if (problem.hint.empty()) problem.hint = "run the same command again; what has arrived is kept";
      return download.refuse(job.source, problem);
    }
    if (!outcome.problem.thing.empty()) {
      shared->reporter.message(progress::Level::detail, to_line(outcome.problem));
    }
    if (outcome.server_wait) pause(job.source, *next);
    wait(job, *next, outcome.server_wait ? fmt::format("asks us to wait with {}", download.name()) : place);
    if (job.sequential) sink.rewind();
    const std::lock_guard lock{shared->mutex};
    if (download.is_refused_locked(job.source)) return;
  }
}

source::ReadOutcome Downloader::Impl::read(const Job& job, LandingSink& sink) {
  ActiveDownload& download = *job.download;
  download.stop().throw_if_requested();
  try {
    source::ReadOutcome outcome =
        shared->sources[job.source]->read(download.object(), sink.rest(), sink, download.stop());
    download.stop().throw_if_requested();  // whatever the outcome, it is that of being stopped
    return outcome;
  } catch (const AllLanded&) {
    return {};
  }
}

void Downloader::Impl::wait(const Job& job, std::chrono::milliseconds duration, const std::string& why) {
  if (duration.count() <= 0) return;
  {
    const std::lock_guard lock{shared->mutex};
    ++waiting;
  }
  shared->reporter.waiting(fmt::format("{}: {}; next try in {}", name_of(job), why, in_seconds(duration)));
  const auto leave = [this] {
    bool last = false;
    {
      const std::lock_guard lock{shared->mutex};
      last = --waiting == 0;
    }
    if (last) shared->reporter.waiting("");
  };
  try {
    shared->clock.sleep(duration, job.download->stop());
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

// One connection was asked to wait: the others would be told the same, and be counted against us.
void Downloader::Impl::pause(std::size_t source, std::chrono::milliseconds duration) {
  const std::lock_guard lock{shared->mutex};
  auto& until = shared->paused_until[source];
  until = std::max(until, shared->clock.now() + duration);
}

void Downloader::Impl::wait_while_paused(const Job& job) {
  std::chrono::milliseconds left{};
  {
    const std::lock_guard lock{shared->mutex};
    left =
        std::chrono::ceil<std::chrono::milliseconds>(shared->paused_until[job.source] - shared->clock.now());
  }
  wait(job, left, fmt::format("asks us to wait with {}", job.download->name()));
}

Downloader::Downloader(std::vector<source::Source*> sources, FetchOptions options, Clock& clock,
                       progress::Reporter& reporter, const Stop& stop)
    : impl_{std::make_unique<Impl>(std::move(sources), options, clock, reporter, stop)} {}

Downloader::~Downloader() {
  impl_->stop_all(SIGTERM);
  {
    const std::lock_guard lock{impl_->shared->mutex};
    impl_->shared->closed = true;
    impl_->shared->active.clear();
    impl_->shared->work.notify_all();
    impl_->shared->changed.notify_all();
    impl_->closing.notify_all();
  }
  for (std::thread& thread : impl_->connected) thread.join();
  if (impl_->watcher.joinable()) impl_->watcher.join();
}

std::shared_ptr<Download> Downloader::start(source::Object object, cache::Partial partial,
                                            std::shared_ptr<progress::PartCounters> counters) {
  Shared& shared = *impl_->shared;
  auto download = std::make_shared<ActiveDownload>(impl_->shared, std::move(object), std::move(partial),
                                                   std::move(counters));
  impl_->start_threads();
  const std::lock_guard lock{shared.mutex};
  shared.all.push_back(download);
  download->begin_locked(shared.started++);
  return download;
}

}  // namespace decant::fetch
