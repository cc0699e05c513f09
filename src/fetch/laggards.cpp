// SPDX-License-Identifier: Apache-2.0
// Connections that are far slower than the others.
#include <fmt/format.h>

#include <csignal>

#include "decant/base/text.hpp"
#include "engine.hpp"

namespace decant::fetch {
namespace {

constexpr int k_patience_alone = 4;
constexpr std::chrono::seconds k_telling{1};  // what a connection brought in less says little

double rate_of(std::uint64_t bytes, std::chrono::nanoseconds time) {
  return static_cast<double>(bytes) / std::chrono::duration<double>(time).count();
}

std::string shown(double rate) {
  return format_size(static_cast<std::uint64_t>(rate)) + "/s";
}

}  // namespace

void Engine::look_for_laggards() {
  std::vector<std::string> messages;
  {
    const std::lock_guard lock{shared_->mutex};
    for (const auto& download : shared_->active) {
      if (auto message = take_over_if_lagging_locked(*download)) messages.push_back(*std::move(message));
    }
  }
  for (const std::string& message : messages) shared_->reporter.message(progress::Level::info, message);
}

std::optional<std::string> Engine::take_over_if_lagging_locked(ActiveDownload& download) {
  const auto flight = download.holder_locked();
  // A source that knows no ranges would begin anew.
  if (!flight || !flight->reading || flight->sequential) return std::nullopt;
  const auto now = shared_->clock.now();
  const auto time = now - flight->seen;
  if (time < watched_for(flight->takeovers)) return std::nullopt;
  const auto others_now = rate_of_others_locked(*flight);
  // What others brought before says less: the whole line may have become slow.
  if (!others_now && time < k_patience_alone * watched_for(flight->takeovers)) return std::nullopt;
  const std::uint64_t received = flight->received;
  const double own = rate_of(received - flight->received_when_seen, time);
  flight->seen = now;
  flight->received_when_seen = received;
  const double others = others_now.value_or(shared_->paces[flight->source].rate());
  if (!is_lagging({.own = own, .others = others, .left = flight->left})) return std::nullopt;
  flight->taken_over = true;
  ++flight->takeovers;
  flight->stop->request(SIGTERM);
  return fmt::format("{}: a connection brings {} of {}, others {}; its rest is asked for over a new one",
                     shared_->names[flight->source], shown(own), download.name(), shown(others));
}

// What other connections to the same source bring on average now; nullopt when there are none.
std::optional<double> Engine::rate_of_others_locked(const Flight& flight) const {
  const auto now = shared_->clock.now();
  double sum = 0;
  int count = 0;
  for (const auto& download : shared_->active) {
    for (const auto& other : download->flights_locked()) {
      if (other.get() == &flight || other->source != flight.source || !other->reading) continue;
      if (now - other->started < k_telling) continue;
      sum += rate_of(other->received - other->received_before, now - other->started);
      ++count;
    }
  }
  return count == 0 ? std::nullopt : std::optional{sum / count};
}

}  // namespace decant::fetch
