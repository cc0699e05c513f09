// SPDX-License-Identifier: Apache-2.0
// A server that lies, stumbles or goes away, seen from the whole command.
#include "decant/fs/sys.hpp"
#include "runs.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace decant;
using namespace decant::test;

namespace {

struct Scene {
  explicit Scene(std::vector<Part> served = LargeRelease{4}.parts) : parts{std::move(served)} {
    work_in_memory();
    hub.add_repo({.id = "org/small"}).add_commit(repo_files(parts));
  }

  Outcome restore(const std::vector<std::string>& more = {}) {
    const bool small = parts.size() == 3;
    return run_here(small ? world.restore_small(hub.endpoint(), more) : world.restore(hub.endpoint(), more),
                    {}, &clock);
  }
  // Once more without the faults.
  void check_right(const Outcome& outcome) const {
    INFO(outcome.all());
    CHECK(outcome.code == 0);
    CHECK(world.tree() == world.wanted(LargeRelease{4}.bundle, {}));
  }
  void check_refused(const Outcome& outcome, int code, const std::string& says) const {
    INFO(outcome.all());
    CHECK(outcome.code == code);
    CHECK(outcome.all().find(says) != std::string::npos);
    CHECK(world.tree().empty());
  }
  std::uint64_t served(const std::string& name) const {
    std::uint64_t bytes = 0;
    for (const auto& request : hub.requests())
      if (request.where == Where::cdn && request.file.find(name) != std::string::npos)
        bytes += request.body_sent;
    return bytes;
  }

  World world;
  std::vector<Part> parts;
  TestHub hub;
  CountingClock clock;
};

constexpr std::uint64_t k_slack = 64;  // probes

Part data_part(Content content) {
  return {.name = "data",
          .content = std::move(content),
          .where = R"("unpack": {"root": "bundle", "under": ""})",
          .size = {},
          .sha256 = {}};
}

}  // namespace

TEST_CASE("bytes that are wrong once are fetched once more") {
  Scene scene;
  const auto fault = scene.hub.add_fault({.where = Where::cdn, .path = "images_1", .flip_at = 300'000});
  const auto outcome = scene.restore();
  scene.check_right(outcome);
  CHECK(outcome.all().find("fetched once more") != std::string::npos);
  CHECK(scene.hub.fault_hits(fault) == 1);
  CHECK(scene.served("images_0") <= scene.parts[0].content.size() + k_slack);
  CHECK(scene.served("images_1") <= 2 * scene.parts[1].content.size() + k_slack);
}

TEST_CASE("bytes that are wrong each time are refused after the second try") {
  const bool with_cache = GENERATE(true, false);
  Scene scene;
  const auto fault =
      scene.hub.add_fault({.where = Where::cdn, .path = "images_1", .times = 0, .flip_at = 300'000});
  const auto outcome = scene.restore(with_cache ? std::vector<std::string>{}
                                                : std::vector<std::string>{"--download-cache", "none"});
  scene.check_refused(outcome, 8, "same wrong bytes each time");
  CHECK(scene.hub.fault_hits(fault) == 2);
  CHECK(scene.served("images_1") <= 2 * scene.parts[1].content.size() + k_slack);
  // The good part is kept.
  scene.hub.clear_faults();
  scene.hub.clear_log();
  scene.check_right(scene.restore());
  CHECK(scene.served("images_0") <= k_slack);
}

TEST_CASE("bytes of a placed file that are wrong each time are refused after the second try") {
  Scene scene{SmallRelease{}.parts};
  const auto fault = scene.hub.add_fault({.where = Where::cdn, .path = "notes", .times = 0, .flip_at = 5});
  const auto outcome = scene.restore();
  scene.check_refused(outcome, 8, "same wrong bytes each time");
  CHECK(scene.hub.fault_hits(fault) == 2);
}

TEST_CASE("a part of another size than the manifest states is refused before it is fetched") {
  const bool longer = GENERATE(true, false);
  Scene scene{[&] {
    auto parts = LargeRelease{4}.parts;
    parts[1].size = longer ? parts[1].content.size() - 1 : parts[1].content.size() + 1'000;
    return parts;
  }()};
  const auto outcome = scene.restore();
  scene.check_refused(outcome, 8, "images_1");
  CHECK(scene.served("images_1") <= k_slack);
}

TEST_CASE("a body that is shorter than it says is asked for again") {
  Scene scene;
  scene.hub.add_fault({.where = Where::cdn, .path = "images_0", .times = 2, .resize = -1000});
  scene.check_right(scene.restore());
}

TEST_CASE("an archive that was cut between two frames is refused though its digest matches") {
  Tree tree;
  for (int i = 0; i < 8; ++i) tree.file("f" + std::to_string(i), random_bytes(7, 16 * 1024));
  const auto tar = tree.tar();
  const auto whole = zstd_frames(tar, 16 * 1024);
  const auto last = zstd_frame(std::string_view{tar}.substr(tar.size() / (16 * 1024) * (16 * 1024)));
  Scene scene{{data_part(whole.substr(0, whole.size() - last.size()))}};
  scene.check_refused(scene.restore(), 8, "S8");
}

TEST_CASE("an archive that holds a way out is refused though its digest matches") {
  TarBuilder tar;
  tar.file("good", "good").file("../outside", "bad");
  Scene scene{{data_part(zstd_frame(tar.closed()))}};
  scene.check_refused(scene.restore(), 8, "S1");
  CHECK(scene.world.stray().empty());
}

TEST_CASE("URLs that expire half-way are asked for again") {
  Scene scene;
  scene.hub.add_fault({.where = Where::cdn, .path = "images_", .skip = 1, .cut_after = 400'000, .then = [&] {
                         scene.hub.expire_urls();
                       }});
  scene.check_right(scene.restore());
}

TEST_CASE("a server that stumbles costs waits, not the restore") {
  struct Row {
    const char* name;
    Fault fault;
    std::vector<std::string> flags;
  };
  const auto row = GENERATE(values<Row>(
      {{"503 three times", {.where = Where::cdn, .times = 3, .status = 503}, {}},
       {"503 of the hub", {.where = Where::hub, .times = 3, .status = 503}, {}},
       {"500 once", {.where = Where::cdn, .path = "images_1", .status = 500}, {}},
       {"stall",
        {.where = Where::cdn, .path = "images_0", .stall_after = 100'000},
        {"--stall-timeout", "500ms"}},
       {"reset", {.where = Where::cdn, .times = 6, .cut_after = 200'000}, {}},
       {"end of the connection",
        {.where = Where::cdn, .times = 6, .cut_after = 200'000, .cut = CutWith::fin},
        {}},
       {"closed before the answer", {.where = Where::cdn, .times = 4, .close_before_answer = true}, {}},
       {"ranges ignored", {.where = Where::cdn, .path = "images_", .times = 0, .ignore_range = true}, {}}}));
  CAPTURE(row.name);
  Scene scene;
  const auto fault = scene.hub.add_fault(row.fault);
  scene.check_right(scene.restore(row.flags));
  CHECK(scene.hub.fault_hits(fault) > 0);
}

TEST_CASE("a server that asks to wait is obeyed") {
  Scene scene;
  scene.hub.add_fault({.where = Where::cdn,
                       .path = "images_0",
                       .skip = 1,
                       .status = 429,
                       .headers = {{"Retry-After", "17"}}});
  scene.check_right(scene.restore());
  CHECK(scene.clock.slept() >= std::chrono::seconds{17});
}

TEST_CASE("a hub that is gone ends a restore with exit 4") {
  Scene scene;
  scene.hub.refuse(Where::hub);
  const auto outcome = scene.restore();
  scene.check_refused(outcome, 4, "127.0.0.1");
  CHECK(scene.world.state().empty());
  scene.hub.listen_again(Where::hub);
  scene.check_right(scene.restore());
}

TEST_CASE("a hub that goes away for good ends a restore with exit 4, and what has arrived is kept") {
  Scene scene;
  scene.hub.add_fault({.where = Where::cdn, .path = "images_1", .cut_after = 1'500'000, .then = [&] {
                         scene.hub.refuse(Where::hub);
                       }});
  scene.hub.add_fault({.where = Where::cdn, .path = "images_1", .times = 0, .close_before_answer = true});
  scene.check_refused(scene.restore({"--connections", "1"}), 4, "images_1");
  scene.hub.clear_faults();
  scene.hub.listen_again(Where::hub);
  const auto before = scene.served("images_");
  scene.check_right(scene.restore());
  CHECK(scene.served("images_") - before < scene.parts[0].content.size() + scene.parts[1].content.size());
}
