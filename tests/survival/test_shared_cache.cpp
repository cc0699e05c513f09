// SPDX-License-Identifier: Apache-2.0
// Many processes on one download cache, with file locks that do nothing: none is asked for.
#include <fmt/format.h>
#include <signal.h>

#include <filesystem>
#include <random>

#include "decant/base/text.hpp"
#include "decant/fs/owner.hpp"
#include "decant/hash/hasher.hpp"
#include "runs.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace decant;
using namespace decant::test;

namespace {

// A preloaded library in which flock, lockf and the locks of fcntl succeed and lock nothing, as on some
// cluster file systems; it writes down who asks for one. Sanitizers want to be the first library themselves.
class NoLocks {
 public:
  Environment environment() const {
    if (std::string_view{DECANT_SANITIZED} != "") return {};
    return {{"LD_PRELOAD", DECANT_NO_LOCKS}, {"NO_LOCKS_LOG", log_}};
  }
  std::string asked() const { return exists(log_) ? read_file(log_) : ""; }

 private:
  TempDir dir_;
  std::string log_ = dir_ / "asked";
};

std::vector<std::string> fetch(const std::string& endpoint, const std::string& cache,
                               const std::vector<std::string>& more = {}) {
  std::vector<std::string> line{"fetch",  "org/small",  "--release", "releases/r1",      "--endpoint",
                                endpoint, "--progress", "none",      "--download-cache", cache};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

// Every file under a final name holds what its name says.
std::string wrong_final(const std::string& cache) {
  const std::string top = cache + "/sha256";
  if (!exists(top)) return {};
  for (const auto& entry : std::filesystem::recursive_directory_iterator{top}) {
    const auto name = entry.path().filename().string();
    if (name.size() != 64 || !entry.is_regular_file()) continue;
    if (hash::sha256(read_file(entry.path().string())).hex() != name) return name;
  }
  return {};
}

std::size_t leftovers(const std::string& cache) {
  std::size_t count = 0;
  for (const auto& [path, what] : snapshot(cache))
    if (path.find(".partial.") != std::string::npos || path.find(".turn") != std::string::npos) ++count;
  return count;
}

struct Hub {
  explicit Hub(std::size_t mib) : release{mib} {
    work_in_memory();
    hub.add_repo({.id = "org/small"}).add_commit(repo_files(release.parts));
  }
  LargeRelease release;
  TestHub hub;
};

constexpr std::size_t k_processes = 8;
constexpr unsigned long k_default_rounds = 2;  // DECANT_SOAK multiplies them

}  // namespace

TEST_CASE("eight processes on one cache, killed at random, never leave a wrong byte") {
  const std::uint64_t seed = seed_of_this_run();
  std::mt19937_64 random{seed};
  Hub hub{4};
  const NoLocks no_locks;
  for (unsigned long round = 0; round < k_default_rounds * soak_factor(); ++round) {
    CAPTURE(seed, round);
    const bool with_locks = round % 2 == 1;
    const auto environment = with_locks ? Environment{} : no_locks.environment();
    const World shared;
    std::vector<std::unique_ptr<World>> worlds;
    std::vector<std::unique_ptr<Program>> programs;
    hub.hub.set_rate(0, 30'000'000);
    for (std::size_t i = 0; i < k_processes; ++i) {
      worlds.push_back(std::make_unique<World>());
      std::vector<std::string> more{"--download-cache", shared.cache()};
      if (random() % 2 == 0) more.emplace_back("--wait");
      const auto line = random() % 2 == 0 ? worlds.back()->restore(hub.hub.endpoint(), more)
                                          : fetch(hub.hub.endpoint(), shared.cache());
      programs.push_back(std::make_unique<Program>(line, environment));
    }
    const auto victims = 1 + random() % (k_processes - 1);
    const auto start = hub.hub.counters().bytes_cdn;
    for (std::size_t i = 0; i < victims; ++i) {
      const auto until = start + random() % (2 * hub.release.size);
      hub.hub.wait_for([&](const HubCounters& counters) { return counters.bytes_cdn >= until; },
                       std::chrono::milliseconds{300});
      programs[i]->send(SIGKILL);
    }
    for (std::size_t i = 0; i < k_processes; ++i) {
      const auto outcome = programs[i]->wait();
      INFO(outcome.all());
      CHECK((outcome.code == 0 || (i < victims && outcome.signal == SIGKILL)));
    }
    CHECK(wrong_final(shared.cache()).empty());
    // What the dead left is taken up or in nobody's way.
    hub.hub.set_rate(0, 0);
    for (const auto& world : worlds) {
      const auto outcome =
          run_program(world->restore(hub.hub.endpoint(), {"--download-cache", shared.cache()}), environment);
      INFO(outcome.all());
      CHECK(outcome.code == 0);
      CHECK(world->tree() == world->wanted(hub.release.bundle, {}));
    }
    CHECK(wrong_final(shared.cache()).empty());
  }
  CHECK(no_locks.asked().empty());
}

TEST_CASE("ten cold processes that wait fetch the release once between them") {
  Hub hub{12};
  const bool with_bundles = GENERATE(false, true);
  CAPTURE(with_bundles);
  hub.hub.set_rate(0, 12'000'000);
  const World shared;
  std::vector<std::unique_ptr<World>> worlds;
  std::vector<std::unique_ptr<Program>> programs;
  for (int i = 0; i < 10; ++i) {
    worlds.push_back(std::make_unique<World>());
    const auto line = with_bundles ? worlds.back()->restore(hub.hub.endpoint(),
                                                            {"--download-cache", shared.cache(), "--wait"})
                                   : fetch(hub.hub.endpoint(), shared.cache(), {"--wait"});
    programs.push_back(std::make_unique<Program>(line));
  }
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto outcome = programs[i]->wait();
    INFO(outcome.all());
    CHECK(outcome.code == 0);
    if (with_bundles) CHECK(worlds[i]->tree() == worlds[i]->wanted(hub.release.bundle, {}));
  }
  CHECK(hub.hub.counters().bytes_cdn <= hub.release.size * 11 / 10);
  CHECK(wrong_final(shared.cache()).empty());
  CHECK(leftovers(shared.cache()) == 0);
}

TEST_CASE("who waits for a process that is killed goes on with what it had") {
  Hub hub{16};
  hub.hub.set_rate(0, 4'000'000);
  const World shared;
  Program first{fetch(hub.hub.endpoint(), shared.cache(), {"--connections", "2"})};
  REQUIRE(hub.hub.wait_for([](const HubCounters& counters) { return counters.bytes_cdn > 9'000'000; }));
  Program second{fetch(hub.hub.endpoint(), shared.cache(), {"--wait"})};
  first.send(SIGKILL);
  first.wait();
  hub.hub.set_rate(0, 0);
  const auto outcome = second.wait();
  INFO(outcome.all());
  CHECK(outcome.code == 0);
  CHECK(wrong_final(shared.cache()).empty());
  CHECK(leftovers(shared.cache()) == 0);
  // Twice come only the chunks that were in flight, and what lay in buffers.
  CHECK(hub.hub.counters().bytes_cdn <= hub.release.size + 5 * k_mib);
}

TEST_CASE("restore --wait takes its turn at a bundle that another process works on") {
  Hub hub{6};
  hub.hub.set_rate(0, 300'000);
  const World world;
  Program first{world.restore(hub.hub.endpoint())};
  REQUIRE(hub.hub.wait_for([](const HubCounters& counters) { return counters.bytes_cdn > 300'000; }));
  const auto too_short = run_program(world.restore(hub.hub.endpoint(), {"--wait=500ms"}));
  INFO(too_short.all());
  CHECK(too_short.code == 9);
  CHECK(too_short.err.find(fmt::format("pid {} ", first.pid())) != std::string::npos);
  CHECK(too_short.err.find("waiting until it is done") != std::string::npos);
  Program second{world.restore(hub.hub.endpoint(), {"--wait"})};
  const bool is_killed = GENERATE(false, true);
  if (is_killed) first.send(SIGKILL);
  hub.hub.set_rate(0, 0);
  const auto one = first.wait();
  const auto two = second.wait();
  INFO(one.all() << two.all());
  CHECK((is_killed || one.code == 0));
  CHECK(two.code == 0);
  CHECK(world.tree() == world.wanted(hub.release.bundle, {}));
}

TEST_CASE("an owner on another host keeps its partial while it may live") {
  Hub hub{6};
  hub.hub.set_rate(0, 4'000'000);
  const World shared;
  {
    Program first{fetch(hub.hub.endpoint(), shared.cache(), {"--connections", "1"})};
    REQUIRE(hub.hub.wait_for([](const HubCounters& counters) { return counters.bytes_cdn > 2'500'000; }));
    first.send(SIGKILL);
    first.wait();
  }
  hub.hub.set_rate(0, 0);
  std::vector<std::string> partials;
  for (const auto& entry : std::filesystem::recursive_directory_iterator{shared.cache()}) {
    if (entry.path().filename() != "owner") continue;
    auto owner = fs::parse_owner(read_file(entry.path().string()));
    REQUIRE(owner);
    owner->host = "another-node";
    write_file(entry.path().string(), fs::to_text(*owner));
    partials.push_back(entry.path().parent_path().string());
  }
  REQUIRE_FALSE(partials.empty());
  const bool is_silent = GENERATE(false, true);
  CAPTURE(is_silent);
  for (const auto& partial : partials) {
    if (!is_silent) continue;
    const auto then = std::filesystem::file_time_type::clock::now() - std::chrono::seconds{700};
    std::filesystem::last_write_time(partial + "/owner", then);
  }
  const auto before = hub.hub.counters().bytes_cdn;
  const auto outcome = run_program(fetch(hub.hub.endpoint(), shared.cache()));
  INFO(outcome.all());
  CHECK(outcome.code == 0);
  CHECK(wrong_final(shared.cache()).empty());
  const auto fetched = hub.hub.counters().bytes_cdn - before;
  for (const auto& partial : partials) CHECK(exists(partial) == !is_silent);
  CHECK((fetched < hub.release.size) == is_silent);
}
