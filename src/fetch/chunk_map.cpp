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
    : size_{size},
      chunk_bytes_{chunk_bytes},
      states_(divided_up(size, chunk_bytes), State::missing),
      missing_{states_.size()} {}

std::uint64_t ChunkMap::prefix_bytes() const {
  return complete() ? size_ : prefix_ * chunk_bytes_;
}

void ChunkMap::set_landed(std::uint64_t chunk) {
  if (states_[chunk] == State::missing) --missing_;
  states_[chunk] = State::landed;
  while (prefix_ < count() && states_[prefix_] == State::landed) ++prefix_;
}

bool ChunkMap::set_missing(std::uint64_t chunk) {
  if (states_[chunk] != State::landed) return false;
  states_[chunk] = State::missing;
  ++missing_;
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
    if (states_[chunk] != State::missing) continue;
    states_[chunk] = State::in_flight;
    --missing_;
  }
}

void ChunkMap::give_back(Run run) {
  for (std::uint64_t chunk = run.first; chunk < run.end(); ++chunk) {
    if (states_[chunk] != State::in_flight) continue;
    states_[chunk] = State::missing;
    ++missing_;
  }
}

}  // namespace decant::fetch
