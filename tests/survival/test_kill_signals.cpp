// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP: an orderly stop, a report, and nothing to be done twice.
#include <fmt/format.h>
#include <signal.h>

#include <filesystem>

#include "decant/cache/partial.hpp"
#include "runs.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace decant;
using namespace decant::test;

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds k_most_time{std::string_view{DECANT_SANITIZED}.empty() ? 2 : 20};

// Sends the signal and checks how the program ends.
void stop_and_check(Program& program, int signal, const std::string& report) {
  const auto sent = steady_clock::now();
  program.send(signal);
  const auto outcome = program.wait();
  const auto took = steady_clock::now() - sent;
  INFO(outcome.all());
  CHECK(outcome.code == 128 + signal);
  CHECK(took < k_most_time);
  REQUIRE(exists(report));
  const auto text = read_file(report);
  CHECK(text.find(fmt::format("\"exit_code\": {}", 128 + signal)) != std::string::npos);
  CHECK(text.find(fmt::format("\"stopped_by\": {}", signal)) != std::string::npos);
  CHECK(text.find("\"retryable\": true") != std::string::npos);
}

// A place in the staged tree of part `name`; empty while there is no staging.
std::string staged_path(const World& world, const std::string& name, const std::string& path) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator{world.bundle() + "/.decant", error})
    if (entry.path().filename().string().starts_with("staging-"))
      return entry.path().string() + "/" + name + "/tree/" + path;
  return {};
}

}  // namespace

TEST_CASE("a signal during the download ends a restore with a report, and the next run goes on") {
  work_in_memory();
  const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
  CAPTURE(signal);
  const LargeRelease release{8};
  TestHub hub;
  hub.add_repo({.id = "org/small"}).add_commit(repo_files(release.parts));
  hub.set_rate(0, 6'000'000);
  const World world;
  const auto report = world.cache() + "/report.json";
  write_file(world.cache() + "/keep", "");
  auto line = world.restore(hub.endpoint(), {"--connections", "4", "--report", report});
  {
    Program program{line};
    REQUIRE(hub.wait_for([](const HubCounters& counters) { return counters.bytes_cdn > 5'000'000; }));
    stop_and_check(program, signal, report);
  }
  CHECK(world.tree().empty());
  CHECK_FALSE(exists(world.bundle() + "/.decant/owner"));
  hub.set_rate(0, 0);
  const auto again = run_program(line);
  INFO(again.all());
  CHECK(again.code == 0);
  CHECK(world.tree() == world.wanted(release.bundle, {}));
  CHECK(hub.counters().bytes_cdn <= release.size + 4 * (cache::k_chunk_bytes + 256 * k_kib));
}

TEST_CASE("a signal while a part is unpacked ends a restore with a report, and the next run goes on") {
  work_in_memory();
  const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
  CAPTURE(signal);
  constexpr int k_files = 40'000;
  Tree tree;
  tree.dir("d");
  for (int i = 0; i < k_files; ++i) tree.file(fmt::format("d/{}", i), std::to_string(i));
  Wanted bundle;
  tree.add_to(bundle, "");
  TestHub hub;
  hub.add_repo({.id = "org/small"})
      .add_commit(repo_files({{.name = "many",
                               .content = zstd_frame(tree.tar()),
                               .where = R"("unpack": {"root": "bundle", "under": ""})",
                               .size = {},
                               .sha256 = {}}}));
  const World world;
  const auto fetched = run_program({"fetch", "org/small", "--release", "releases/r1", "--endpoint",
                                    hub.endpoint(), "--download-cache", world.cache(), "--progress", "none"});
  INFO(fetched.all());
  REQUIRE(fetched.code == 0);
  const auto served = hub.counters().bytes_cdn;
  const auto report = world.cache() + "/report.json";
  const auto line = world.restore(
      hub.endpoint(), {"--offline", "--download-cache", world.cache(), "--jobs", "1", "--report", report});
  {
    Program program{line};
    REQUIRE(wait_until([&] {
      const auto path = staged_path(world, "many", "d/500");
      return !path.empty() && exists(path);
    }));
    stop_and_check(program, signal, report);
  }
  CHECK(world.tree().empty());
  const auto again = run_program(line);
  INFO(again.all());
  CHECK(again.code == 0);
  CHECK(world.tree() == world.wanted(bundle, {}));
  CHECK(hub.counters().bytes_cdn == served);
}

TEST_CASE("a second signal ends a restore at once") {
  work_in_memory();
  const LargeRelease release{8};
  TestHub hub;
  hub.add_repo({.id = "org/small"}).add_commit(repo_files(release.parts));
  hub.set_rate(0, 2'000'000);
  const World world;
  const auto line = world.restore(hub.endpoint(), {"--report", world.path("report.json")});
  Program program{line};
  REQUIRE(hub.wait_for([](const HubCounters& counters) { return counters.bytes_cdn > 500'000; }));
  // Both wait for the stopped program, so that it finds the second while it has done nothing about the first.
  program.send(SIGSTOP);
  program.wait_stopped();
  program.send(SIGINT);
  program.send(SIGTERM);
  const auto sent = steady_clock::now();
  program.send(SIGCONT);
  const auto outcome = program.wait();
  INFO(outcome.all());
  CHECK((outcome.code == 130 || outcome.code == 143));
  CHECK(steady_clock::now() - sent < k_most_time);
  CHECK_FALSE(exists(world.path("report.json")));
  hub.set_rate(0, 0);
  const auto again = run_program(line);
  INFO(again.all());
  CHECK(again.code == 0);
  CHECK(world.tree() == world.wanted(release.bundle, {}));
}
