// SPDX-License-Identifier: Apache-2.0
#include "download.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"

namespace decant::fetch {
namespace {

constexpr int k_wrong_until_dropped = 2;
constexpr std::chrono::milliseconds k_poll{100};
// What ends connections that nobody needs any more; seen by them alone.
constexpr int k_no_longer_needed = SIGTERM;

std::string name_for(const source::Object& object, const progress::PartCounters* counters) {
  if (counters != nullptr && !counters->name.empty()) return escape_for_display(counters->name);
  return escape_for_display(object.path.str());
}

std::vector<std::string> names_of(const std::vector<source::Source*>& sources) {
  std::vector<std::string> names;
  names.reserve(sources.size());
  for (const source::Source* source : sources) names.push_back(source->name());
  return names;
}

}  // namespace

Shared::Shared(std::vector<source::Source*> places, FetchOptions fetch_options, Clock& time,
               progress::Reporter& voice, const Stop& outer)
    : sources{std::move(places)},
      names{names_of(sources)},
      options{fetch_options},
      clock{time},
      reporter{voice},
      stop{outer},
      limit{fetch_options.limit_rate, time},
      wrong(sources.size()),
      dropped(sources.size()),
      paused_until(sources.size()),
      ramp{fetch_options.connections},
      paces(sources.size()) {}

std::uint64_t Shared::missing_chunks() const {
  std::uint64_t missing = 0;
  for (const auto& download : active) missing += download->missing_chunks_locked();
  return missing;
}

ActiveDownload::ActiveDownload(std::shared_ptr<Shared> shared, source::Object object, cache::Partial partial,
                               std::shared_ptr<progress::PartCounters> counters)
    : shared_{std::move(shared)},
      object_{std::move(object)},
      counters_{std::move(counters)},
      name_{name_for(object_, counters_.get())},
      partial_{std::move(partial)},
      chunks_{object_.size, cache::k_chunk_bytes},
      problems_(shared_->sources.size()),
      refused_(shared_->sources.size()),
      sequential_(shared_->sources.size()),
      delivered_(shared_->sources.size()),
      served_(shared_->sources.size()),
      wrong_(shared_->sources.size()) {
  if (partial_->size() != object_.size) {
    throw Error{ErrorKind::bug, fmt::format("{} is no partial of {}", partial_->path(), name_)};
  }
  for (std::uint64_t chunk = 0; chunk < chunks_.count(); ++chunk) {
    if (partial_->chunk_state(chunk) != cache::ChunkState::missing) chunks_.set_landed(chunk);
  }
  count(static_cast<std::int64_t>(partial_->landed_bytes()), 0);
}

void ActiveDownload::begin_locked(std::uint64_t number) {
  number_ = number;
  if (chunks_.complete()) return;
  if (source_locked()) {
    activate_locked();
  } else {
    end_locked(no_source_left_locked(), {});
  }
}

std::uint64_t ActiveDownload::wait_for(std::uint64_t offset) {
  std::unique_lock lock{shared_->mutex};
  const std::uint64_t wanted = std::min(offset, object_.size);
  for (;;) {
    if (chunks_.prefix_bytes() >= wanted) return chunks_.prefix_bytes();
    // NOLINTNEXTLINE(misc-throw-by-value-catch-by-reference): a copy, each time
    if (interrupted_) throw Interrupted{*interrupted_};
    if (error_) throw Error{*error_};
    if (released_) throw Error{ErrorKind::bug, fmt::format("{} was given back", name_)};
    if (shared_->closed) {
      throw Error{ErrorKind::incomplete, fmt::format("{} has not arrived to its end", name_),
                  "run the same command again; what has arrived is kept"};
    }
    shared_->stop.throw_if_requested();
    shared_->changed.wait_for(lock, k_poll);
  }
}

void ActiveDownload::refetch(std::uint64_t chunk) {
  const std::lock_guard lock{shared_->mutex};
  if (!partial_ || chunk >= chunks_.count() || !chunks_.set_missing(chunk)) return;
  partial_->drop(chunk);
  count(-static_cast<std::int64_t>(partial_->chunk_range(chunk).length), 0);
  activate_locked();
}

bool ActiveDownload::refetch_all() {
  std::vector<std::string> now_dropped;
  bool goes_on = false;
  {
    std::unique_lock lock{shared_->mutex};
    if (!partial_) return false;
    on_hold_ = true;
    shared_->changed.wait(lock, [this] { return users_ == 0; });
    on_hold_ = false;
    for (std::size_t i = 0; i < delivered_.size(); ++i) {
      served_[i] = 0;
      if (!delivered_[i]) continue;
      delivered_[i] = false;
      const std::string& source = shared_->names[i];
      if (++wrong_[i] >= k_wrong_until_dropped && !refused_[i]) {
        refused_[i] = true;
        problems_[i] =
            Problem{.kind = ErrorKind::integrity,
                    .thing = fmt::format("{}: {} sent bytes that do not match its {} digest, {} times", name_,
                                         source, to_string(object_.digest.algorithm()), wrong_[i]),
                    .expected = object_.digest.hex(),
                    .found = "other bytes",
                    .hint = "run the same line again; if it stays so, ask who published the release"};
      }
      // The last one is what the user asked for; it may be right about all other objects.
      if (++shared_->wrong[i] >= k_wrong_until_dropped && i + 1 < delivered_.size() && !shared_->dropped[i]) {
        shared_->dropped[i] = true;
        now_dropped.push_back(source);
      }
    }
    std::int64_t landed = 0;
    for (std::uint64_t chunk = 0; chunk < chunks_.count(); ++chunk) {
      if (chunks_.set_missing(chunk))
        landed += static_cast<std::int64_t>(partial_->chunk_range(chunk).length);
    }
    partial_->drop_all();
    count(-landed, 0);
    goes_on = source_locked().has_value();
    if (goes_on) {
      activate_locked();
    } else {
      end_locked(no_source_left_locked(), {});
    }
    if (shared_->closed) return goes_on;
  }
  for (const std::string& source : now_dropped) {
    shared_->reporter.message(
        progress::Level::warning,
        fmt::format("{}: sent wrong bytes twice; not used any more in this run", source));
  }
  return goes_on;
}

cache::Partial& ActiveDownload::partial() {
  const std::lock_guard lock{shared_->mutex};
  if (!partial_) throw Error{ErrorKind::bug, fmt::format("{} was given back", name_)};
  return *partial_;
}

std::string ActiveDownload::source_name() const {
  const std::lock_guard lock{shared_->mutex};
  std::string names;
  for (std::size_t i = 0; i < served_.size(); ++i) {
    if (served_[i] > 0) names += (names.empty() ? "" : ", ") + shared_->names[i];
  }
  return names;
}

std::vector<Download::Share> ActiveDownload::shares() const {
  const std::lock_guard lock{shared_->mutex};
  std::vector<Share> shares;
  for (std::size_t i = 0; i < served_.size(); ++i) {
    if (served_[i] > 0) shares.push_back({.source = shared_->names[i], .bytes = served_[i]});
  }
  return shares;
}

cache::Partial ActiveDownload::release() {
  std::unique_lock lock{shared_->mutex};
  if (!partial_) throw Error{ErrorKind::bug, fmt::format("{} was given back", name_)};
  released_ = true;
  request_stop_locked(k_no_longer_needed);
  deactivate_locked();
  shared_->changed.wait(lock, [this] { return users_ == 0; });
  shared_->changed.notify_all();
  cache::Partial partial = *std::move(partial_);
  partial_.reset();
  return partial;
}

bool ActiveDownload::wants_work_locked() const {
  return !over_locked() && !on_hold_ && !stop_.requested() && !chunks_.complete();
}

std::optional<std::size_t> ActiveDownload::source_locked() const {
  for (std::size_t i = 0; i < refused_.size(); ++i) {
    if (!refused_[i] && !shared_->dropped[i]) return i;
  }
  return std::nullopt;
}

void ActiveDownload::request_stop_locked(int signal) {
  stop_.request(signal);
  for (const auto& flight : flights_) flight->stop->request(signal);
}

std::shared_ptr<Flight> ActiveDownload::take_off_locked(std::size_t source) {
  std::optional<Run> run;
  if (!sequential_[source]) {
    const FetchOptions& options = shared_->options;
    run = chunks_.next_run(options.window, longest_run({.longest_range = options.longest_range,
                                                        .window = options.window,
                                                        .left = shared_->missing_chunks(),
                                                        .connections = shared_->ramp.allowed(),
                                                        .rate = shared_->paces[source].rate(),
                                                        .chunk_bytes = cache::k_chunk_bytes}));
  } else if (users_ == 0) {
    run = Run{0, chunks_.count()};
  }
  if (!run) return nullptr;
  chunks_.take(*run);
  ++users_;
  return flights_.emplace_back(std::make_shared<Flight>(*run, source, sequential_[source]));
}

void ActiveDownload::land_locked(const std::shared_ptr<Flight>& flight) {
  std::erase(flights_, flight);
  chunks_.give_back(flight->run);
  leave_locked();
}

std::shared_ptr<Flight> ActiveDownload::holder_locked() const {
  const auto it = std::find_if(flights_.begin(), flights_.end(),
                               [this](const auto& flight) { return flight->run.holds(chunks_.prefix()); });
  return it == flights_.end() ? nullptr : *it;
}

bool ActiveDownload::enter_locked() {
  if (!partial_ || released_ || on_hold_) return false;
  ++users_;
  return true;
}

void ActiveDownload::leave_locked() {
  --users_;
  if (chunks_.complete()) deactivate_locked();
  shared_->changed.notify_all();
  shared_->work.notify_all();
}

void ActiveDownload::landed(std::uint64_t chunk, std::size_t source) {
  const std::lock_guard lock{shared_->mutex};
  chunks_.set_landed(chunk);
  delivered_[source] = true;
  served_[source] += std::min(cache::k_chunk_bytes, object_.size - chunk * cache::k_chunk_bytes);
  shared_->changed.notify_all();
  shared_->work.notify_one();  // the window has moved
}

bool ActiveDownload::is_landed(std::uint64_t chunk) {
  const std::lock_guard lock{shared_->mutex};
  return chunks_.is_landed(chunk);
}

void ActiveDownload::count(std::int64_t written, std::uint64_t received) {
  fetched_ += received;
  shared_->received += received;
  if (!counters_) return;
  counters_->bytes_done += static_cast<std::uint64_t>(written);  // wraps round, and so takes away
  counters_->bytes_from_network += received;
}

void ActiveDownload::refuse(std::size_t source, const Problem& problem, Because because) {
  std::string going_on_with;
  {
    const std::lock_guard lock{shared_->mutex};
    if (refused_[source]) return;  // another connection was first, and has said so
    refused_[source] = true;
    problems_[source] = problem;
    const auto next = source_locked();
    if (!next) return end_locked(no_source_left_locked(), {});
    going_on_with = shared_->names[*next];
    // One that does not answer would cost every object the same long wait. The last one is all there is.
    if (because == Because::silent && source + 1 < refused_.size()) shared_->dropped[source] = true;
  }
  shared_->reporter.message(because == Because::absent ? progress::Level::detail : progress::Level::warning,
                            fmt::format("{}: {}; going on with {}", name_, to_line(problem), going_on_with));
}

bool ActiveDownload::set_sequential(std::size_t source) {
  const std::lock_guard lock{shared_->mutex};
  if (sequential_[source]) return false;
  sequential_[source] = true;
  return true;
}

void ActiveDownload::end(std::optional<Error> error, std::optional<Interrupted> interrupted) {
  const std::lock_guard lock{shared_->mutex};
  end_locked(std::move(error), interrupted);
}

void ActiveDownload::end_locked(std::optional<Error> error, std::optional<Interrupted> interrupted) {
  if (over_locked()) return;
  error_ = std::move(error);
  interrupted_ = interrupted;
  request_stop_locked(k_no_longer_needed);
  deactivate_locked();
  shared_->changed.notify_all();
}

void ActiveDownload::activate_locked() {
  if (over_locked()) return;
  auto& active = shared_->active;
  const auto self = shared_from_this();
  if (std::find(active.begin(), active.end(), self) != active.end()) return;
  const auto later = [](const std::shared_ptr<ActiveDownload>& a, const std::shared_ptr<ActiveDownload>& b) {
    return a->number_ < b->number_;
  };
  active.insert(std::upper_bound(active.begin(), active.end(), self, later), self);
  shared_->work.notify_all();
}

void ActiveDownload::deactivate_locked() {
  auto& active = shared_->active;
  const auto at =
      std::find_if(active.begin(), active.end(), [this](const auto& one) { return one.get() == this; });
  if (at != active.end()) active.erase(at);
}

// What the last source said: it is the one that the user named, the others only stand in for it.
Error ActiveDownload::no_source_left_locked() const {
  const auto last =
      std::find_if(problems_.rbegin(), problems_.rend(), [](const auto& one) { return one.has_value(); });
  if (last != problems_.rend()) return Error{**last};
  return Error{ErrorKind::network, fmt::format("{}: no place is left to fetch it from", name_)};
}

}  // namespace decant::fetch
