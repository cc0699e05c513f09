// SPDX-License-Identifier: Apache-2.0
// How many requests a repo of thousands of files costs.
#include <fmt/format.h>

#include "cli_world.hpp"
#include "support/catch.hpp"

namespace decant::test {
namespace {

constexpr int k_files = 3000;

std::vector<HubFile> many_files() {
  std::vector<HubFile> files;
  for (int i = 0; i < k_files; ++i)
    files.push_back({fmt::format("shards/{:02}/{:04}.distcp", i % 50, i),
                     Content{fmt::format("content of {}", i)}, i % 10 == 0 ? Store::regular : Store::lfs});
  return files;
}

}  // namespace

TEST_CASE("a repo of 3,000 files costs one question to the hub for each, and three pages of a list") {
  World world;
  auto& repo = world.hub.add_repo({.id = "org/many"});
  repo.add_commit(many_files());
  const auto ran = world.run({"restore", "org/many", "--bundle", world.bundle(), "--download-cache", "none"});
  INFO(ran);
  CHECK(ran.code == 0);
  std::map<std::string, int> asked;
  std::map<std::string, int> stored;
  int listings = 0;
  int others = 0;
  for (const auto& request : world.hub.requests()) {
    if (request.where == Where::cdn)
      ++stored[request.file];
    else if (!request.file.empty())
      ++asked[request.file];
    else if (request.path.find("/tree/") != std::string::npos)
      ++listings;
    else
      ++others;
  }
  int twice = 0;
  for (const auto& [file, times] : asked) twice += times - 1;
  for (const auto& [file, times] : stored) twice += times - 1;
  CHECK(asked.size() >= k_files);  // and the manifest that is not there
  CHECK(asked.size() <= k_files + 1);
  CHECK(stored.size() == k_files * 9 / 10);
  CHECK(twice <= 2);  // the probe for access
  CHECK(listings <= 4);
  CHECK(others <= 2);
  int wrong = 0;
  const auto tree = tree_of(world.bundle());
  for (const auto& file : many_files()) {
    const auto it = tree.find(file.path);
    if (it == tree.end() || it->second != file.content.text()) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a hub that has had enough questions is left in peace as long as it asks, and then gone on with") {
  World world;
  auto& repo = world.hub.add_repo({.id = "org/many"});
  auto files = many_files();
  files.resize(100);
  repo.add_commit(files);
  world.hub.set_quota(1000, 40);
  // The hub's windows follow our sleeps.
  class TellingClock final : public Clock {
   public:
    explicit TellingClock(World& world) : world_{world} {}
    std::chrono::steady_clock::time_point now() const override { return world_.clock.now(); }
    std::int64_t wall_seconds() const override { return world_.clock.wall_seconds(); }
    void sleep(std::chrono::milliseconds duration, const Stop& stop) override {
      world_.clock.sleep(duration, stop);
      longest = std::max(longest.load(), duration.count());
      if (duration > std::chrono::seconds{1})
        world_.hub.advance_clock(std::chrono::ceil<std::chrono::seconds>(duration));
    }
    std::atomic<std::int64_t> longest{0};

   private:
    World& world_;
  } clock{world};
  world.clock_in_use = &clock;
  const auto ran = world.run({"restore", "org/many", "--bundle", world.bundle(), "--download-cache", "none"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(clock.longest <= 301'000);
  std::uint64_t refused = 0;
  for (const auto& request : world.hub.requests()) refused += request.status == 429 ? 1 : 0;
  CHECK(refused >= 2);   // 100 files, 40 a window
  CHECK(refused <= 60);  // no connection goes on asking
}

}  // namespace decant::test
