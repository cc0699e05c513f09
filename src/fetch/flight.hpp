// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "chunk_map.hpp"
#include "decant/base/stop.hpp"

namespace decant::fetch {

// A run of chunks on its way, as others see it. Under the shared mutex, but for the atomics.
struct Flight {
  Flight(Run chunks, std::size_t from, bool whole) : run{chunks}, source{from}, sequential{whole} {}

  const Run run;
  const std::size_t source;
  const bool sequential;  // the whole object, in one request
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> left{0};  // bytes of the run that have not come

  std::shared_ptr<Stop> stop = std::make_shared<Stop>();  // of the request that runs now
  bool reading = false;                                   // it runs: neither waiting nor landed
  std::chrono::steady_clock::time_point started{};        // it did
  std::uint64_t received_before = 0;
  std::chrono::steady_clock::time_point seen{};  // when the watcher last judged it, and what had come by then
  std::uint64_t received_when_seen = 0;
  bool taken_over = false;  // that is why `stop` was requested
  int takeovers = 0;
};

}  // namespace decant::fetch
