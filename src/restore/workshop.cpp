// SPDX-License-Identifier: Apache-2.0
#include "workshop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace decant::restore {

namespace {
constexpr int k_most_lies = 2;
}

Workshop::Workshop(Prepared& p) : prepared{p}, budget{p.request.memory} {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int jobs = p.request.jobs > 0 ? p.request.jobs : cores;
  stage_threads = std::clamp(jobs / 2 + 1, 1, 4);
  lanes = std::clamp(jobs, 1, 8);
}

// The repo's own place, opened when something is asked of it: a run that finds everything elsewhere needs
// neither its address nor a token. That it cannot be opened is told when it is its turn.
class Workshop::OwnPlace final : public source::Source {
 public:
  OwnPlace(Prepared& prepared, std::mutex& mutex) : prepared_{prepared}, mutex_{mutex} {}

  std::string name() const override {
    const auto& locked = prepared_.lock.source;
    const auto& asked = prepared_.request.asked;
    if (locked.kind == model::SourceKind::mirror) return asked ? asked->endpoint : locked.endpoint;
    return locked.kind == model::SourceKind::hub ? "hub" : std::string{to_string(locked.kind)};
  }

  source::ReadOutcome read(const source::Object& object, ByteRange range, ByteSink& sink,
                           const Stop& stop) override {
    source::Source* objects = nullptr;
    try {
      const std::lock_guard lock{mutex_};
      objects = &prepared_.repository().objects();
    } catch (const Error& error) {
      return {.end = source::ReadEnd::failed, .problem = error.problem()};
    }
    return objects->read(object, range, sink, stop);
  }

 private:
  Prepared& prepared_;
  std::mutex& mutex_;
};

source::Source& Workshop::own_place() {
  if (prepared.has_repository()) return prepared.repository().objects();
  if (!own_) own_ = std::make_unique<OwnPlace>(prepared, repository_mutex_);
  return *own_;
}

source::Source* Workshop::place_to_read(std::size_t number, std::size_t& next) {
  const auto& places = prepared.services.places;
  const std::lock_guard lock{mutex_};
  for (next = number; next < places.size();) {
    auto* place = places[next++];
    const auto lies = lies_.find(place);
    if (place->is_local() && (lies == lies_.end() || lies->second < k_most_lies)) return place;
  }
  if (next > places.size() || prepared.lock.source.kind != model::SourceKind::directory) return nullptr;
  if (prepared.request.offline) return nullptr;
  next = places.size() + 1;
  if (own_directory_ == nullptr) {
    const std::lock_guard repository{repository_mutex_};
    try {
      own_directory_ = &prepared.repository().objects();
    } catch (const Error&) {
      return nullptr;  // told when it is asked as the last place of a download
    }
  }
  return own_directory_;
}

bool Workshop::is_last(const source::Source& place) {
  const std::lock_guard lock{mutex_};
  return &place == own_directory_;
}

void Workshop::count_lie(const source::Source& place) {
  bool is_dropped = false;
  {
    const std::lock_guard lock{mutex_};
    is_dropped = &place != own_directory_ && ++lies_[&place] == k_most_lies;
    if (is_dropped) dropped_.push_back(place.name());
  }
  if (is_dropped)
    prepared.reporter().message(
        progress::Level::warning,
        fmt::format("{}: had wrong bytes twice; not used any more in this run", place.name()));
}

fetch::Downloader& Workshop::downloader() {
  const std::lock_guard lock{mutex_};
  if (!downloader_) {
    std::vector<source::Source*> places;
    for (auto* place : prepared.services.places)
      if (!place->is_local() && std::ranges::find(prepared.unreachable, place) == prepared.unreachable.end())
        places.push_back(place);
    places.push_back(&own_place());
    fetch::FetchOptions options;
    options.connections = prepared.request.connections;
    options.limit_rate = prepared.request.limit_rate;
    downloader_ = std::make_unique<fetch::Downloader>(places, options, *prepared.services.clock,
                                                      prepared.reporter(), prepared.stop());
  }
  return *downloader_;
}

std::vector<std::string> Workshop::dropped() {
  const std::lock_guard lock{mutex_};
  auto names = dropped_;
  for (const auto* place : prepared.unreachable) names.push_back(place->name());
  if (downloader_)
    for (auto& name : downloader_->dropped()) names.push_back(std::move(name));
  return names;
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
