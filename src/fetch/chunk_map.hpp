// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace decant::fetch {

// Consecutive chunks.
struct Run {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t end() const { return first + count; }
  bool holds(std::uint64_t chunk) const { return first <= chunk && chunk < end(); }
  bool operator==(const Run&) const = default;
};

// How far one object is, in chunks, and what to ask for next. Pure values; the caller locks.
class ChunkMap {
 public:
  ChunkMap(std::uint64_t size, std::uint64_t chunk_bytes);

  std::uint64_t count() const { return states_.size(); }
  bool complete() const { return prefix_ == count(); }
  bool is_landed(std::uint64_t chunk) const { return states_[chunk] == State::landed; }
  std::uint64_t prefix() const { return prefix_; }  // chunks that landed without a gap from the start
  std::uint64_t prefix_bytes() const;
  std::uint64_t missing() const { return missing_; }  // chunks neither landed nor in flight

  void set_landed(std::uint64_t chunk);
  // False when it had not landed: nothing changes then.
  bool set_missing(std::uint64_t chunk);

  // The first missing chunks, at most `longest` in a row, that begin less than `window` bytes after the
  // prefix.
  std::optional<Run> next_run(std::uint64_t window, std::uint64_t longest) const;
  void take(Run run);       // missing -> in flight
  void give_back(Run run);  // in flight -> missing; landed ones stay

 private:
  enum class State : std::uint8_t { missing, in_flight, landed };

  std::uint64_t size_;
  std::uint64_t chunk_bytes_;
  std::vector<State> states_;
  std::uint64_t missing_;
  std::uint64_t prefix_ = 0;
};

}  // namespace decant::fetch
