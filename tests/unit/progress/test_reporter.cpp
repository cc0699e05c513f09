// SPDX-License-Identifier: Apache-2.0
#include "decant/progress/reporter.hpp"

#include <set>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace decant;
using namespace decant::progress;

TEST_CASE("the silent reporter says nothing but counts") {
  Reporter& reporter = silent_reporter();
  CHECK(&reporter == &silent_reporter());
  reporter.totals(10, 5);
  reporter.message(Level::warning, "text");
  reporter.waiting("hub");
  reporter.waiting("");
  reporter.problem({.kind = ErrorKind::network, .thing = "x"});
  reporter.finding("x");
  reporter.phase("plan");

  const auto counters = reporter.part("data", 100);
  CHECK(counters->name == "data");
  CHECK(counters->bytes_total == 100);
  CHECK(counters->bytes_done == 0);
  CHECK(counters->phase.load() == PartPhase::waiting);
  CHECK(reporter.part("data", 100) != counters);
}

TEST_CASE("counters add up from many threads") {
  constexpr int k_threads = 4;
  constexpr int k_steps = 1000;
  const auto counters = silent_reporter().part("data", 0);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < k_threads; ++i) {
      threads.emplace_back([counters] {
        for (int step = 0; step < k_steps; ++step) counters->bytes_done += 3;
      });
    }
  }
  CHECK(counters->bytes_done == 3U * k_threads * k_steps);
}

TEST_CASE("every phase has a name of its own") {
  std::set<std::string_view> names;
  for (const PartPhase phase :
       {PartPhase::waiting, PartPhase::fetching, PartPhase::unpacking, PartPhase::staged,
        PartPhase::publishing, PartPhase::done, PartPhase::failed, PartPhase::conflict}) {
    names.insert(to_string(phase));
  }
  CHECK(names.size() == 8);
}
