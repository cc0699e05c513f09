// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "decant/base/error.hpp"

namespace decant::progress {

enum class PartPhase { waiting, fetching, unpacking, staged, publishing, done, failed, conflict };
std::string_view to_string(PartPhase phase) noexcept;

// Counters of one part (or one tree while verifying). Workers bump them; a ticker draws snapshots.
struct PartCounters {
  std::string name;
  std::uint64_t bytes_total = 0;             // to fetch or to read; 0 when unknown
  std::atomic<std::uint64_t> bytes_done{0};  // includes what was there before
  std::atomic<std::uint64_t> bytes_from_network{0};
  std::atomic<std::uint64_t> entries_done{0};
  std::atomic<std::uint64_t> bytes_unpacked{0};
  std::atomic<PartPhase> phase{PartPhase::waiting};
};

enum class Level { detail, info, warning };

// What the engines talk to; the renderers (bar, plain, JSON, none) implement it. All calls are thread-safe,
// cheap, and never throw.
class Reporter {
 public:
  virtual ~Reporter() = default;
  // The work of this run is known: totals for the bar. May be called again when it grows.
  virtual void totals(std::uint64_t bytes_to_fetch, std::uint64_t bytes_present) = 0;
  // The returned counters live as long as the caller wants; the reporter keeps a reference too.
  virtual std::shared_ptr<PartCounters> part(std::string_view name, std::uint64_t bytes_total) = 0;
  virtual void message(Level level, std::string_view text) = 0;
  // Something is waited for ("hub: rate limited, next request in 42 s"); empty: no longer.
  virtual void waiting(std::string_view what) = 0;
  virtual void problem(const Problem& problem) = 0;
  // A verify finding, as found.
  virtual void finding(std::string_view text) = 0;
  // A phase of the whole command begins ("plan", "fetch", "publish", "verify").
  virtual void phase(std::string_view name) = 0;
};

// Does nothing; counters still count.
Reporter& silent_reporter();

}  // namespace decant::progress
