// SPDX-License-Identifier: Apache-2.0
// A whole restore is stopped at every mutating call, and each of them fails once; then the same line is run
// again and must lead to the same tree with nothing left over.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "runs.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace decant::test;

namespace {

enum class What { release, release_without_cache, loose };

const char* name_of(What what) {
  switch (what) {
    case What::release:
      return "release";
    case What::release_without_cache:
      return "release, no cache";
    case What::loose:
      return "loose files";
  }
  return "";
}

// A claim whose owner could not write its name yet: it may be on another host, so it is left alone for ten
// minutes. An empty file, or a directory with one.
bool may_be_about_to_claim(const std::string& name) {
  if (name.find("/owner.new-") != std::string::npos) return name.ends_with(" file, empty");
  if (name.find(".partial.") == std::string::npos) return false;
  return name.ends_with("/owner file, empty") ||
         (name.ends_with(" dir") && name.find("/bytes") == std::string::npos);
}

// What is left over, and what is missing.
std::vector<std::string> differences(const std::set<std::string>& found,
                                     const std::set<std::string>& wanted) {
  std::vector<std::string> out;
  for (const auto& name : found)
    if (!wanted.contains(name) && !may_be_about_to_claim(name)) out.push_back("left: " + name);
  for (const auto& name : wanted)
    if (!found.contains(name)) out.push_back("missing: " + name);
  return out;
}

// The hub and what all worlds of one sweep have in common.
struct Sweep {
  explicit Sweep(What kind) : what{kind} {
    work_in_memory();
    World clean{true};
    const auto outcome = run_forked(line(clean));
    INFO(outcome.all());
    REQUIRE(outcome.code == 0);
    state_in_the_end = clean.state();
    REQUIRE(clean.tree() == wanted(clean));
    lock = read_file(clean.bundle() + "/restore_lock.json");
    bytes_of_one = hub.bytes_served();
  }

  std::vector<std::string> line(const World& world) const {
    if (what == What::loose) return world.restore_loose(hub.endpoint());
    return world.restore_small(hub.endpoint(), what == What::release_without_cache
                                                   ? std::vector<std::string>{"--download-cache", "none"}
                                                   : std::vector<std::string>{});
  }
  Wanted wanted(const World& world) const {
    return what == What::loose ? world.wanted(loose.bundle, {}) : world.wanted(small.bundle, small.runtime);
  }

  // At any instant.
  void check_stopped(const World& world) const {
    CHECK(world.half_file(wanted(world)).empty());
    CHECK(world.stray().empty());
    const auto lock_path = world.bundle() + "/restore_lock.json";
    if (exists(lock_path)) CHECK(read_file(lock_path) == lock);
  }

  void check_finishes(const World& world) const {
    const auto outcome = run_forked(line(world));
    INFO(outcome.all());
    CHECK(outcome.code == 0);
    CHECK(world.tree() == wanted(world));
    CHECK(world.stray().empty());
    CHECK(differences(world.state(), state_in_the_end) == std::vector<std::string>{});
    const auto proven = run_forked(world.verify(what != What::loose));
    INFO(proven.all());
    CHECK(proven.code == 0);
  }

  What what;
  SmallRelease small;
  LooseRelease loose;
  HubProcess hub{[this](TestHub& served) {
    served.add_repo({.id = "org/small"}).add_commit(repo_files(small.parts));
    served.add_repo({.id = "org/loose"}).add_commit(loose.files);
  }};
  std::set<std::string> state_in_the_end;
  std::string lock;
  std::uint64_t bytes_of_one = 0;
};

// Every call; under sanitizers, where all takes long, every `step`-th, beginning anywhere.
constexpr unsigned long k_step = std::string_view{DECANT_SANITIZED}.empty() ? 1 : 7;

struct Stride {
  unsigned long first = 1;
  unsigned long step = 1;
};
Stride stride_of(unsigned long step) {
  if (const char* given = std::getenv("DECANT_STRIDE")) step = std::stoul(given);
  return {1 + seed_of_this_run() % step, step};
}

void kill_everywhere(What what, unsigned long step) {
  const Sweep sweep{what};
  const auto stride = stride_of(step);
  unsigned long kills = 0;
  for (unsigned long k = stride.first;; k += stride.step) {
    CAPTURE(name_of(what), k);
    const World world{true};
    const auto before = sweep.hub.bytes_served();
    const auto stopped = run_forked(sweep.line(world), [k](std::string_view /*call*/, unsigned long number) {
      if (number == k) ::_exit(k_stopped_here);
      return 0;
    });
    INFO(stopped.all());
    const bool killed = stopped.code == k_stopped_here;
    if (!killed) REQUIRE(stopped.code == 0);
    sweep.check_stopped(world);
    sweep.check_finishes(world);
    // Each object is smaller than a chunk: what is in flight may come a second time, nothing a third time.
    CHECK(sweep.hub.bytes_served() - before <= 2 * sweep.bytes_of_one);
    if (!killed) break;
    ++kills;
    REQUIRE(k < 5000);
  }
  INFO(name_of(what));
  CHECK(kills * stride.step > 100);
  WARN(name_of(what) << ": stopped at " << kills << " calls");
}

constexpr std::array k_errors{ENOSPC, EIO, EDQUOT, EROFS};

// What went wrong in our words.
bool tells(const std::string& text, int error) {
  const auto* words = error == ENOSPC   ? "no space"
                      : error == EDQUOT ? "quota exceeded"
                      : error == EROFS  ? "read-only"
                                        : "input/output error";
  return text.find(words) != std::string::npos;
}

void fail_everywhere(What what, unsigned long step) {
  const Sweep sweep{what};
  const auto stride = stride_of(step);
  unsigned long refused = 0;
  unsigned long forgiven = 0;
  bool reached = true;
  for (unsigned long k = stride.first; reached; k += stride.step) {
    const int error = k_errors.at((k / stride.step) % k_errors.size());
    const World world{true};
    std::string failed_call;
    const std::string note = world.path("cache");  // made only when the call was reached
    const auto outcome = run_forked(sweep.line(world), [&](std::string_view call, unsigned long number) {
      if (number != k) return 0;
      write_file(note, call);
      return error;
    });
    reached = exists(note);
    if (reached) failed_call = read_file(note);
    CAPTURE(name_of(what), k, error, failed_call, outcome.all());
    sweep.check_stopped(world);
    if (outcome.code == 0) {
      // Something that restore can do without, or the end of the sweep.
      if (reached) ++forgiven;
      CHECK(world.tree() == sweep.wanted(world));
    } else {
      ++refused;
      CHECK(outcome.code == 6);
      CHECK(tells(outcome.all(), error));
    }
    sweep.check_finishes(world);
    REQUIRE(k < 5000);
  }
  CHECK(refused > forgiven);
  WARN(name_of(what) << ": " << refused << " failing calls ended in exit 6, " << forgiven
                     << " were forgiven");
}

}  // namespace

TEST_CASE("a restore that is stopped at any call finishes when it is run again") {
  kill_everywhere(What::release, k_step);
}

TEST_CASE("a restore without cache that is stopped at any call finishes when it is run again") {
  kill_everywhere(What::release_without_cache, k_step);
}

TEST_CASE("a restore of loose files that is stopped at any call finishes when it is run again") {
  kill_everywhere(What::loose, k_step);
}

TEST_CASE("a restore in which any call failed says so and finishes when it is run again") {
  fail_everywhere(What::release, k_step);
}

TEST_CASE("a restore of loose files in which any call failed says so and finishes when it is run again") {
  fail_everywhere(What::loose, k_step);
}

TEST_CASE("a part without cache is not fetched again when the restore is stopped while it is recorded") {
  const Sweep sweep{What::release_without_cache};
  for (int nth = 1; nth <= 3; ++nth) {
    CAPTURE(nth);
    const World world{true};
    auto line = sweep.line(world);
    line.insert(line.end(), {"--jobs", "1", "--connections", "1"});
    const auto before = sweep.hub.bytes_served();
    int syncs = 0;  // one for each part, before its record
    const auto stopped = run_forked(line, [&](std::string_view call, unsigned long /*number*/) {
      if (call == "syncfs" && ++syncs == nth) ::_exit(k_stopped_here);
      return 0;
    });
    REQUIRE(stopped.code == k_stopped_here);
    sweep.check_finishes(world);
    CHECK(sweep.hub.bytes_served() - before <= sweep.bytes_of_one + 16);  // the probe of the second run
  }
}

TEST_CASE("a restore that is stopped again and again finishes") {
  const Sweep sweep{What::release};
  const auto seed = seed_of_this_run();
  for (unsigned long round = 0; round < 4 * soak_factor(); ++round) {
    const World world{true};
    for (unsigned long i = 0; i < 5; ++i) {
      const auto k = 1 + (seed + round * 7919 + i * 104'729) % 150;
      CAPTURE(round, i, k);
      run_forked(sweep.line(world), [k](std::string_view /*call*/, unsigned long number) {
        if (number == k) ::_exit(k_stopped_here);
        return 0;
      });
      sweep.check_stopped(world);
    }
    sweep.check_finishes(world);
  }
}
