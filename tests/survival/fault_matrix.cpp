// SPDX-License-Identifier: Apache-2.0
#include "fault_matrix.hpp"

#include <signal.h>

#include <filesystem>

#include "decant/cache/partial.hpp"
#include "support/catch.hpp"

namespace decant::test {
namespace {

namespace stdfs = std::filesystem;

// What an end in the middle may cost: the chunk under way on each of the first four connections.
constexpr std::uint64_t k_per_fault = cache::k_chunk_bytes + 256 * k_kib;
constexpr std::uint64_t k_slack = 64;  // probes for access

}  // namespace

std::chrono::steady_clock::time_point FastClock::now() const {
  return start_ + 20 * (std::chrono::steady_clock::now() - start_) + std::chrono::milliseconds{slept_.load()};
}

void FastClock::sleep(std::chrono::milliseconds duration, const Stop& stop) {
  stop.throw_if_requested();
  slept_ += duration.count();
  ++sleeps_;
  auto longest = longest_.load();
  while (longest < duration.count() && !longest_.compare_exchange_weak(longest, duration.count())) {
  }
  if (on_sleep) on_sleep();
  std::this_thread::yield();
}

const char* to_string(When when) {
  if (when == When::fresh) return "fresh";
  return when == When::resuming ? "resuming" : "at the last byte";
}

FaultMatrix::FaultMatrix() {
  work_in_memory();
  hub.add_repo({.id = "org/small"}).add_commit(repo_files(release_.parts));
  hub.add_token(token_);
  const std::uint64_t half = 2 * cache::k_chunk_bytes + 300'000;
  hub.add_fault({.where = Where::cdn, .path = "images_1", .stall_after = half, .at_object = true});
  Program program{killed_.restore(hub.endpoint(), {"--connections", "1", "--jobs", "1"}),
                  {{"HF_TOKEN", token_}}};
  // One part after the other, so that the first has come when the second stalls.
  const auto wanted = release_.parts[0].content.size() + half;
  REQUIRE(hub.wait_for([&](const HubCounters& counters) { return counters.bytes_cdn >= wanted; },
                       std::chrono::minutes{2}));
  program.send(SIGKILL);
  REQUIRE(program.wait().signal == SIGKILL);
  // The last chunk that came may not have landed.
  had_when_killed_ = release_.parts[0].content.size() + cache::k_chunk_bytes;
}

std::uint64_t FaultMatrix::position(When when) const {
  const auto size = release_.parts[1].content.size();
  if (when == When::last_byte) return size - 1;
  return when == When::fresh ? 1'300'000 : 3 * cache::k_chunk_bytes + 200'000;
}

void FaultMatrix::prepare(const World& world, When when) const {
  if (when != When::resuming) return;
  const auto command = "cp -a '" + killed_.root() + "/.' '" + world.root() + "'";
  REQUIRE(std::system(command.c_str()) == 0);
}

Outcome FaultMatrix::run(const World& world, const std::vector<std::string>& flags) {
  auto outcome = run_here(world.restore(hub.endpoint(), flags), {{"HF_TOKEN", token_}}, clock_);
  look_for_token(world, outcome);
  return outcome;
}

void FaultMatrix::look_for_token(const World& world, const Outcome& outcome) const {
  if (outcome.all().find(token_) != std::string::npos) FAIL_CHECK("the token is in the output");
  for (const auto& entry : stdfs::recursive_directory_iterator{world.root()})
    if (entry.is_regular_file() && read_file(entry.path().string()).find(token_) != std::string::npos)
      FAIL_CHECK("the token is in " << entry.path());
  for (const auto& request : hub.requests()) {
    if (request.target.find(token_) != std::string::npos) FAIL_CHECK("the token is in a URL");
    if (request.where == Where::cdn && request.has_authorization) FAIL_CHECK("the CDN got the token");
  }
}

std::uint64_t FaultMatrix::served() const {
  std::uint64_t bytes = 0;
  for (const auto& request : hub.requests())
    if (request.where == Where::cdn) bytes += request.body_sent;
  return bytes;
}

void FaultMatrix::check(const FaultCase& one) {
  for (const auto when : {When::fresh, When::resuming, When::last_byte}) check(one, when);
}

void FaultMatrix::check(const FaultCase& one, When when) {
  INFO(one.name << ", " << to_string(when));
  const World world;
  prepare(world, when);
  hub.clear_faults();
  hub.clear_log();
  FastClock clock;
  clock_ = &clock;

  Fault fault = one.fault;
  fault.where = Where::cdn;
  fault.path = "images_1";
  fault.covers = position(when);
  if (one.at == FaultCase::At::cut) fault.cut_after = position(when);
  if (one.at == FaultCase::At::stall) fault.stall_after = position(when);
  fault.at_object = one.at == FaultCase::At::cut || one.at == FaultCase::At::stall;
  if (one.at == FaultCase::At::flip) fault.flip_at = position(when);
  std::atomic<bool> struck{false};
  fault.then = [&] {
    if (!struck.exchange(true))
      for (const Fault& further : one.after) hub.add_fault(further);
    if (one.fault.then) one.fault.then();
  };
  if (one.fault.refuse_for.count() > 0) {  // in sleeps of ours, not in real time
    fault.refuse_for = std::chrono::milliseconds{0};
    fault.then = [this] { hub.refuse(Where::cdn); };
    clock.on_sleep = [this, &clock] {
      if (clock.sleeps() == 3) hub.listen_again(Where::cdn);
    };
  }
  const auto id = hub.add_fault(fault);

  const auto outcome = run(world, one.flags);
  INFO(outcome.all());
  CHECK(outcome.code == one.code);
  for (const auto& word : one.words) {
    INFO("not there: " << word);
    CHECK(outcome.all().find(word) != std::string::npos);
  }
  const auto hits = hub.fault_hits(id);
  CHECK(hits >= 1);
  CHECK(clock.longest_sleep() >= one.waits);
  CHECK(clock.longest_sleep() <= one.waits_at_most);
  const auto wanted = world.wanted(release_.bundle, {});
  if (one.code == 0) {
    CHECK(world.tree() == wanted);
  } else {
    CHECK(world.tree().empty());
    hub.clear_faults();
    const auto again = run(world, {});
    INFO(again.all());
    CHECK(again.code == 0);
    CHECK(world.tree() == wanted);
  }
  CHECK(world.stray().empty());
  std::uint64_t most = release_.size + hits * k_per_fault + k_slack;
  if (when == When::resuming) most -= had_when_killed_;
  if (one.fetched_anew) most += 2 * release_.parts[1].content.size();
  // What else was in flight when a part failed.
  if (one.code != 0) most += 3 * k_per_fault;
  CHECK(served() <= most);
}

}  // namespace decant::test
