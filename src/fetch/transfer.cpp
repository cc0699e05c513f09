// SPDX-License-Identifier: Apache-2.0
// One run of chunks: asked for, broken off, waited for, gone on with.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "engine.hpp"

namespace decant::fetch {
namespace {

constexpr std::uint64_t k_least_progress = 8 * k_kib;

double random_share() {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(generator);
}

std::string in_seconds(std::chrono::milliseconds duration) {
  return format_duration(
      static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(duration).count()));
}

// What the source asked for, and how much of it is granted.
std::string asks_us_to_wait(const BackoffPolicy& policy, std::chrono::seconds asked,
                            const std::string& name) {
  std::string text = fmt::format("asks us to wait with {}", name);
  if (asked > policy.longest_server_wait) {
    text += fmt::format(" for {}, of which at most {} are waited at a time", in_seconds(asked),
                        in_seconds(policy.longest_server_wait));
  }
  return text;
}

}  // namespace

void Engine::transfer(const Job& job) {
  ActiveDownload& download = *job.download;
  LandingSink sink{download, *job.flight};
  std::uint64_t furthest = sink.position();
  int failures = 0;
  for (;;) {
    wait_while_paused(job);
    begin_reading(job);
    source::ReadOutcome outcome = read(job, sink);
    const bool taken_over = end_reading(job);
    if (sink.is_done()) return;
    if (taken_over) continue;  // at once, where it was

    // A server that drips must come to an end: a few bytes a try are no progress.
    const bool progress = sink.position() >= furthest + k_least_progress;
    if (progress) furthest = sink.position();
    failures = progress ? 1 : failures + 1;
    if (!goes_on_after(job, sink, std::move(outcome), failures)) return;
    if (job.flight->sequential) sink.rewind();
    const std::lock_guard lock{shared_->mutex};
    if (download.is_refused_locked(job.flight->source)) return;
  }
}

bool Engine::goes_on_after(const Job& job, const LandingSink& sink, source::ReadOutcome outcome,
                           int failures) {
  ActiveDownload& download = *job.download;
  switch (outcome.end) {
    case source::ReadEnd::complete:  // but it is not
    case source::ReadEnd::interrupted:
      break;
    case source::ReadEnd::range_ignored:
      range_was_ignored(job);
      return false;
    case source::ReadEnd::wrong_object:
      outcome.problem.kind = ErrorKind::integrity;
      download.refuse(job.flight->source, outcome.problem);
      return false;
    case source::ReadEnd::absent:
      download.refuse(job.flight->source, outcome.problem, ActiveDownload::Because::absent);
      return false;
    case source::ReadEnd::failed:
      download.refuse(job.flight->source, outcome.problem);
      return false;
  }

  const BackoffPolicy& policy = shared_->options.backoff;
  const std::string place =
      fmt::format("connection lost at {} of {}", format_size(sink.position()), download.name());
  const auto next = next_wait(policy, failures, outcome.server_wait, random_share());
  if (!next) {
    Problem problem = std::move(outcome.problem);
    problem.kind = ErrorKind::network;
    if (problem.thing.empty()) problem.thing = fmt::format("{}: {}", name_of(job), place);
    if (problem.hint.empty()) problem.hint = "run the same command again; what has arrived is kept";
    download.refuse(job.flight->source, problem, ActiveDownload::Because::silent);
    return false;
  }
  if (!outcome.problem.thing.empty()) {
    shared_->reporter.message(progress::Level::detail, to_line(outcome.problem));
  }
  if (outcome.server_wait) pause(job.flight->source, *next);
  wait(job, *next,
       outcome.server_wait ? asks_us_to_wait(policy, *outcome.server_wait, download.name()) : place);
  return true;
}

void Engine::range_was_ignored(const Job& job) {
  ActiveDownload& download = *job.download;
  if (job.flight->sequential) {
    return download.refuse(job.flight->source,
                           Problem{.kind = ErrorKind::network,
                                   .thing = fmt::format("{} sends {} neither whole nor in ranges",
                                                        name_of(job), download.name())});
  }
  if (!download.set_sequential(job.flight->source)) return;
  shared_->reporter.message(
      progress::Level::info,
      fmt::format("{}: {} comes as a whole only (the server ignores ranges); it is read "
                  "from its start over one connection",
                  name_of(job), download.name()));
}

void Engine::begin_reading(const Job& job) {
  const std::lock_guard lock{shared_->mutex};
  Flight& flight = *job.flight;
  flight.stop = std::make_shared<Stop>();
  if (job.download->stop().requested()) flight.stop->request(job.download->stop().signal());
  flight.taken_over = false;
  flight.reading = true;
  flight.started = flight.seen = shared_->clock.now();
  flight.received_before = flight.received_when_seen = flight.received;
}

source::ReadOutcome Engine::read(const Job& job, LandingSink& sink) {
  ActiveDownload& download = *job.download;
  const std::shared_ptr<Stop> stop = job.flight->stop;
  try {
    stop->throw_if_requested();
    source::ReadOutcome outcome =
        shared_->sources[job.flight->source]->read(download.object(), sink.rest(), sink, *stop);
    download.stop().throw_if_requested();  // whatever the outcome, it is that of being stopped
    return outcome;
  } catch (const AllLanded&) {
    return {};
  } catch (const Interrupted&) {
    download.stop().throw_if_requested();
    const std::lock_guard lock{shared_->mutex};
    if (!job.flight->taken_over) throw;
    return {.end = source::ReadEnd::interrupted};
  }
}

bool Engine::end_reading(const Job& job) {
  const std::lock_guard lock{shared_->mutex};
  Flight& flight = *job.flight;
  flight.reading = false;
  if (!flight.taken_over)
    shared_->paces[flight.source].note(flight.received - flight.received_before,
                                       shared_->clock.now() - flight.started);
  return flight.taken_over;
}

void Engine::wait(const Job& job, std::chrono::milliseconds duration, const std::string& why) {
  if (duration.count() <= 0) return;
  {
    const std::lock_guard lock{shared_->mutex};
    ++waiting_;
  }
  shared_->reporter.waiting(fmt::format("{}: {}; next try in {}", name_of(job), why, in_seconds(duration)));
  const auto leave = [this] {
    bool last = false;
    {
      const std::lock_guard lock{shared_->mutex};
      last = --waiting_ == 0;
    }
    if (last) shared_->reporter.waiting("");
  };
  try {
    shared_->clock.sleep(duration, job.download->stop());
  } catch (...) {
    leave();
    throw;
  }
  leave();
}

// One connection was asked to wait: the others would be told the same, and be counted against us.
void Engine::pause(std::size_t source, std::chrono::milliseconds duration) {
  const std::lock_guard lock{shared_->mutex};
  auto& until = shared_->paused_until[source];
  until = std::max(until, shared_->clock.now() + duration);
  shared_->ramp.push_back(shared_->clock.now());
}

void Engine::wait_while_paused(const Job& job) {
  std::chrono::milliseconds left{};
  {
    const std::lock_guard lock{shared_->mutex};
    left = std::chrono::ceil<std::chrono::milliseconds>(shared_->paused_until[job.flight->source] -
                                                        shared_->clock.now());
  }
  if (left.count() <= 0) return;
  // Not all at the same moment.
  left += std::chrono::milliseconds{static_cast<int>(random_share() * 500)};
  wait(job, left, fmt::format("asks us to wait with {}", job.download->name()));
}

}  // namespace decant::fetch
