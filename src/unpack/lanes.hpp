// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "decant/base/budget.hpp"
#include "decant/base/queue.hpp"
#include "decant/base/threads.hpp"
#include "file_writer.hpp"

namespace decant::unpack {

// A lane has failed and wait() will say why.
struct LaneFailed {};

// A few threads, each with a queue and a FileWriter of its own. All pieces of a file go to one lane, in
// order.
class Lanes {
 public:
  struct Piece {
    std::optional<FileJob> begin;
    std::vector<BlockSpan> spans;
    bool end = false;
  };

  Lanes(std::size_t count, const Target& target, Ledger& ledger, progress::PartCounters* counters,
        const Stop& stop);
  ~Lanes();  // drops what is queued

  // The lane for the next file: the one with the least to do, or always the same one for the same path.
  std::size_t least_busy() const;
  std::size_t lane_of(const fs::RelPath& path) const;
  // Throws LaneFailed.
  void push(std::size_t lane, Piece piece);
  // Lets the lanes finish. Rethrows the first failure.
  void wait();
  std::uint64_t bytes_written() const;  // after wait()

 private:
  struct Lane {
    Lane(const Target& target, Ledger& ledger, progress::PartCounters* counters, const Stop& stop)
        : writer{target, ledger, counters, stop} {}
    BoundedQueue<Piece> queue{64};
    FileWriter writer;
    std::atomic<std::uint64_t> pending{0};
  };

  void work(Lane& lane);
  void abandon(Lane& lane);

  std::atomic<bool> abandoned_{false};
  std::vector<std::unique_ptr<Lane>> lanes_;
  ThreadGroup threads_;
};

}  // namespace decant::unpack
