// SPDX-License-Identifier: Apache-2.0
#include "lanes.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "decant/base/error.hpp"

namespace decant::unpack {
namespace {

// What a file costs beside its bytes, in bytes' worth of work.
constexpr std::uint64_t k_file_cost = 32 * k_kib;

std::uint64_t cost_of(const Lanes::Piece& piece) {
  std::uint64_t cost = piece.begin ? k_file_cost : 0;
  for (const auto& span : piece.spans) cost += span.bytes.size();
  return cost;
}

}  // namespace

Lanes::Lanes(std::size_t count, const Target& target, Ledger& ledger, progress::PartCounters* counters,
             const Stop& stop) {
  for (std::size_t i = 0; i < count; ++i) {
    lanes_.push_back(std::make_unique<Lane>(target, ledger, counters, stop));
  }
  // As many as the system grants: each lane waits for a piece first, so the others may still go away.
  std::size_t started = 0;
  for (const auto& lane : lanes_) {
    if (!threads_.try_start([this, &lane = *lane] { work(lane); }, [this, &lane = *lane] { abandon(lane); }))
      break;
    ++started;
  }
  if (started == 0) {
    throw Error{ErrorKind::disk,
                "cannot start a thread: the limit of threads, processes or memory is reached",
                "raise the limit (ulimit -u), or use --jobs 1"};
  }
  lanes_.resize(started);
}

Lanes::~Lanes() {
  abandoned_ = true;
  for (const auto& lane : lanes_) lane->queue.close();
}

void Lanes::work(Lane& lane) {
  while (auto piece = lane.queue.pop()) {
    if (abandoned_) continue;
    const auto cost = cost_of(*piece);
    if (piece->begin) lane.writer.begin(*std::move(piece->begin));
    for (auto& span : piece->spans) {
      lane.writer.data(span.bytes);
      span.block.reset();  // the reader may be waiting for its bytes
    }
    if (piece->end) lane.writer.end();
    lane.pending -= cost;
  }
}

// Blocks that stay in a queue would be missing from the budget for which the reader waits.
void Lanes::abandon(Lane& failed) {
  abandoned_ = true;
  for (const auto& lane : lanes_) lane->queue.close();
  while (failed.queue.pop()) {
  }
}

std::size_t Lanes::least_busy() const {
  const auto least = std::min_element(lanes_.begin(), lanes_.end(),
                                      [](const auto& a, const auto& b) { return a->pending < b->pending; });
  return static_cast<std::size_t>(least - lanes_.begin());
}

std::size_t Lanes::lane_of(const fs::RelPath& path) const {
  return std::hash<fs::RelPath>{}(path) % lanes_.size();
}

void Lanes::push(std::size_t lane, Piece piece) {
  auto& chosen = *lanes_[lane];
  chosen.pending += cost_of(piece);
  if (!chosen.queue.push(std::move(piece))) throw LaneFailed{};
}

void Lanes::wait() {
  for (const auto& lane : lanes_) lane->queue.close();
  threads_.wait();
}

std::uint64_t Lanes::bytes_written() const {
  std::uint64_t sum = 0;
  for (const auto& lane : lanes_) sum += lane->writer.bytes_written();
  return sum;
}

}  // namespace decant::unpack
