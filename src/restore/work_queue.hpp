// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "prepared.hpp"

namespace decant::restore {

// What to make of other processes that bring the same object to the cache.
enum class Others {
  ignore,  // bring it as well
  yield,   // leave it to them
  copy,    // what they have, since they stand still, and bring the rest
};

// Thrown instead of beginning an object that somebody else brings; empty: that one has just finished it. No
// Error: nothing failed.
struct ClaimedByOther {
  std::optional<cache::Claim> claim;
};

// Hands out pieces of work in order. With --wait what another process brings comes last: it is waited for, as
// long as its holder shows signs of life and its bytes grow, and not longer than the limit. Thread-safe.
class WorkQueue {
 public:
  struct Item {
    std::size_t index = 0;
    Others others = Others::ignore;
  };
  // Who brings what this piece needs; reads only.
  using Look = std::function<std::optional<cache::Claim>(std::size_t index)>;
  using Name = std::function<std::string(std::size_t index)>;  // for messages

  // `look` may be empty: there are no others.
  WorkQueue(std::size_t count, const Prepared& prepared, Look look, Name name);

  // Waits while all that is left is with others. nullopt when nothing is left.
  std::optional<Item> next();
  // An item that turned out to be with somebody else.
  void put_back(std::size_t index, const ClaimedByOther& other);
  void close();  // hands out nothing more

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Watch {
    std::optional<cache::Claim> claim;
    TimePoint looked{};
    TimePoint sign{};    // of life: when heartbeat or record last moved
    TimePoint growth{};  // when the record last moved
  };
  Item hand_out(std::size_t index, Others others);
  std::optional<std::size_t> pop(std::deque<std::size_t>& items);
  void note(std::size_t index, const cache::Claim& claim);
  bool stands_still(std::size_t index);
  bool is_limit_over();
  void wait_for_look(std::size_t index);

  const Prepared& p_;
  const Look look_;
  const Name name_;
  std::atomic<bool> is_waiting_{false};  // the reporter was told so
  std::mutex mutex_;                     // guards all below
  std::deque<std::size_t> fresh_;
  std::deque<std::size_t> claimed_;
  std::map<std::size_t, Watch> watches_;
  std::optional<TimePoint> waiting_since_;
  bool is_closed_ = false;
};

}  // namespace decant::restore
