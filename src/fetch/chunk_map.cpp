// SPDX-License-Identifier: Apache-2.0
#include "chunk_map.hpp"

#include <algorithm>

namespace decant::fetch {
namespace {

std::uint64_t divided_up(std::uint64_t a, std::uint64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace

ChunkMap::ChunkMap(std::uint64_t size, std::uint64_t chunk_bytes)
    : size_{size}, chunk_bytes_{chunk_bytes}, states_(divided_up(size, chunk_bytes), State::missing) {}

std::uint64_t ChunkMap::prefix_bytes() const {
  return complete() ? size_ : prefix_ * chunk_bytes_;
}

void ChunkMap::set_landed(std::uint64_t chunk) {
  states_[chunk] = State::landed;
  while (prefix_ < count() && states_[prefix_] == State::landed) ++prefix_;
}

bool ChunkMap::set_missing(std::uint64_t chunk) {
  if (states_[chunk] != State::landed) return false;
  states_[chunk] = State::missing;
  prefix_ = std::min(prefix_, chunk);
  return true;
}

std::optional<Run> ChunkMap::next_run(std::uint64_t window, std::uint64_t longest) const {
  const std::uint64_t reach =
      std::min(count(), prefix_ + std::max<std::uint64_t>(1, divided_up(window, chunk_bytes_)));
  for (std::uint64_t chunk = prefix_; chunk < reach; ++chunk) {
    if (states_[chunk] != State::missing) continue;
    std::uint64_t end = chunk;
    while (end < count() && end - chunk < longest && states_[end] == State::missing) ++end;
    return Run{chunk, end - chunk};
  }
  return std::nullopt;
}

void ChunkMap::take(Run run) {
  for (std::uint64_t chunk = run.first; chunk < run.end(); ++chunk) {
    if (states_[chunk] == State::missing) states_[chunk] = State::in_flight;
  }
}

void ChunkMap::give_back(Run run) {
  for (std::uint64_t chunk = run.first; chunk < run.end(); ++chunk) {
    if (states_[chunk] == State::in_flight) states_[chunk] = State::missing;
  }
}

std::uint64_t longest_run(std::uint64_t object_chunks, std::uint64_t longest_range, std::uint64_t window,
                          int connections, std::uint64_t chunk_bytes) {
  const auto parts = static_cast<std::uint64_t>(std::max(1, connections));
  const std::uint64_t share_of_object = divided_up(object_chunks, parts);
  const std::uint64_t share_of_window = divided_up(divided_up(window, parts), chunk_bytes);
  return std::max<std::uint64_t>(1,
                                 std::min({longest_range / chunk_bytes, share_of_object, share_of_window}));
}

}  // namespace decant::fetch
