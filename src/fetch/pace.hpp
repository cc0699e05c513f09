// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace decant::fetch {

// How fast single connections have been of late. Pure; the caller locks.
class Pace {
 public:
  // A request brought `bytes` in `time`. Short ones say more about the way there and back, and are left out.
  void note(std::uint64_t bytes, std::chrono::nanoseconds time);
  double rate() const { return rate_; }  // bytes per second of one connection; 0: not known

 private:
  double rate_ = 0;
};

// What decides how much to ask for at once, in chunks and bytes.
struct RunLimits {
  std::uint64_t longest_range = 0;  // bytes
  std::uint64_t window = 0;         // bytes
  std::uint64_t left = 0;           // chunks that nobody has asked for yet, of all downloads
  int connections = 1;
  double rate = 0;  // bytes per second of one connection; 0: not known
  std::uint64_t chunk_bytes = 1;
};
// Chunks of one request, at least 1: it lasts some seconds, all connections find room in the window, and
// towards the end the requests get so short that all connections end together.
std::uint64_t longest_run(const RunLimits& limits);

// A range that others wait for, compared with what other connections bring (bytes per second).
struct Lag {
  double own = 0;
  double others = 0;
  std::uint64_t left = 0;  // bytes
};
// Whether it is better asked for anew over a fresh connection.
bool is_lagging(const Lag& lag);
// For how long a range is watched before that is decided; longer each time, so that a line where it does not
// help is left in peace.
std::chrono::seconds watched_for(int takeovers);

}  // namespace decant::fetch
