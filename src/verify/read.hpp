// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include "sheet.hpp"

namespace decant::verify {

// One file to read and hash.
struct ReadJob {
  std::uint32_t sheet = 0;
  std::uint32_t entry = 0;
};

// Hands out the files: small ones first, tree by tree in path order, so that a wrong tree shows in seconds;
// but the longest file is started as soon as it would alone take as long as all that is left takes on all
// readers, so that the end is not one reader on one shard.
class ReadQueue {
 public:
  ReadQueue(const std::deque<Sheet>& sheets, int readers);
  std::optional<ReadJob> next();
  void close();
  std::uint64_t bytes() const { return total_; }

 private:
  std::uint64_t cost(const ReadJob& job) const;

  const std::deque<Sheet>& sheets_;
  const std::uint64_t readers_;
  std::mutex mutex_;
  std::vector<ReadJob> small_;
  std::vector<ReadJob> large_;  // longest first
  std::size_t next_small_ = 0;
  std::size_t next_large_ = 0;
  std::uint64_t left_ = 0;
  std::uint64_t total_ = 0;
};

// A reader: takes files until none are left. One buffer and one open directory.
void read_files(std::deque<Sheet>& sheets, ReadQueue& queue, Ledger& ledger, const Stop& stop);

}  // namespace decant::verify
