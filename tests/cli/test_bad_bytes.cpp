// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include "bad_input.hpp"

// Parts whose bytes are wrong, and runs that are stopped.
namespace decant::test {
namespace {

std::string bytes_of_data() {
  return SmallRelease{}.bytes_of("data");
}

// Nothing is visible, and the same line succeeds once the fault is over, fetching no more than it must.
void check_goes_on(World& world) {
  CHECK(tree_of(world.bundle()).empty());
  CHECK(tree_of(world.runtime()).empty());
  world.hub.clear_faults();
  world.hub.clear_log();
  const auto again = world.restore();
  INFO(again);
  CHECK(again.code == 0);
  CHECK(world.is_restored());
}

struct BadBytes {
  std::string name;
  Fault fault;
  int code;
  std::vector<std::string> words;
};

}  // namespace

TEST_CASE("wrong bytes of a part are never visible, and are named") {
  const std::vector<BadBytes> cases{
      {"a flipped bit, each time",
       {.where = Where::cdn, .path = "data.tar.zst", .times = 0, .flip_at = 100'000},
       8,
       {"data", "SHA-256 differs", "expected:", "found:", "the same wrong bytes each time"}},
      {"another file of the same size",
       {.where = Where::cdn,
        .path = "data.tar.zst",
        .times = 0,
        .content = Content{std::string(bytes_of_data().size(), 'x')}},
       8,
       {"data"}},
      {"a shorter file",
       {.where = Where::cdn,
        .path = "data.tar.zst",
        .times = 0,
        .content = Content{bytes_of_data().substr(0, 50'000)}},
       8,
       {"data", "size"}},
      {"a longer file",
       {.where = Where::cdn, .path = "data.tar.zst", .times = 0, .content = Content{bytes_of_data() + "xxx"}},
       8,
       {"data", "size"}},
      {"a web page of a proxy",
       {.where = Where::cdn,
        .path = "data.tar.zst",
        .times = 0,
        .status = 200,
        .headers = {{"Content-Type", "text/html"}},
        .body = "<html>log in first</html>"},
       8,
       {"data"}},
      {"a file that the storage does not hold",
       {.where = Where::cdn, .path = "data.tar.zst", .times = 0, .status = 404},
       5,
       {"data", "HTTP 404"}},
      {"a storage that is down",
       {.where = Where::cdn, .path = "data.tar.zst", .times = 0, .status = 500},
       4,
       {"data", "HTTP 500"}},
  };
  for (const auto& one : cases) {
    DYNAMIC_SECTION(one.name) {
      World world;
      auto fault = one.fault;
      if (!fault.flip_at) fault.skip = 1;  // the probe for access
      world.hub.add_fault(fault);
      const auto ran = world.restore();
      INFO(ran);
      CHECK(ran.code == one.code);
      for (const auto& word : one.words) CHECK(has(ran, {word}));
      CHECK(has(ran, {"next:"}));
      check_goes_on(world);
      // What had arrived of the other parts was kept.
      for (const auto& request : world.hub.requests())
        if (request.where == Where::cdn) CHECK(request.file.find("images") == std::string::npos);
    }
  }
}

TEST_CASE("one flipped bit on the way costs one more download, not the run") {
  World world;
  world.hub.add_fault({.where = Where::cdn, .path = "data.tar.zst", .flip_at = 100'000});
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(has(ran.err, {"data", "fetched once more"}));
  CHECK(world.is_restored());
}

TEST_CASE("an archive that is not what archives must be is refused by name") {
  struct BadArchive {
    std::string name;
    std::string bytes;
    std::string word;
  };
  const auto whole = data_tar().closed();
  const auto frames = zstd_frames(whole, 64 * 1024);
  const auto first_frames = zstd_frames(whole.substr(0, 2 * 64 * 1024), 64 * 1024);
  REQUIRE(frames.starts_with(first_frames));
  const std::vector<BadArchive> cases{
      {"cut at a frame boundary", first_frames, "rows.parquet"},
      {"cut between two members", zstd_frame(data_tar().bytes()), "S8"},
      {"cut inside a frame", frames.substr(0, frames.size() - 10), "data"},
      {"no archive at all", random_bytes(5, 5000), "data"},
      {"empty", "", "data"},
      {"a name that leaves the root", zstd_frame(TarBuilder{}.file("../outside.txt", "x").closed()),
       "../outside.txt"},
      {"an absolute link without allow-external",
       zstd_frame(TarBuilder{}.symlink("link", "/etc/passwd").closed()), "/etc/passwd"},
      {"a name of decant's own", zstd_frame(TarBuilder{}.file(".decant/x", "x").closed()), ".decant"},
      {"two files of one name", zstd_frame(TarBuilder{}.file("a", "1").file("a", "2").closed()), "same name"},
  };
  for (const auto& one : cases) {
    DYNAMIC_SECTION(one.name) {
      World world;
      world.commit([&](SmallRelease& release) { release.set_bytes("data", one.bytes); });
      const auto ran = world.restore();
      INFO(ran);
      CHECK(ran.code == 8);
      CHECK(has(ran, {"part data", one.word}));
      CHECK(tree_of(world.bundle()).empty());
      CHECK(tree_of(world.runtime()).empty());
      CHECK(!exists(world.dir / "outside.txt"));
      // The bytes are what the manifest says: another run has nothing to fetch.
      world.hub.clear_log();
      const auto again = world.restore();
      CHECK(again.code == 8);
      CHECK(world.bytes_from_cdn() <= 1);
    }
  }
}

TEST_CASE("each signal stops a run with its own exit code, and the next one goes on") {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    DYNAMIC_SECTION("signal " << signal) {
      World world;
      world.hub.add_fault({.where = Where::cdn, .path = "images_001", .stall_after = 1000, .then = [&] {
                             world.stop->request(signal);
                           }});
      const auto ran = world.restore({"--report", world.dir / "report.json"});
      INFO(ran);
      CHECK(ran.code == 128 + signal);
      CHECK(has(ran.out, {"stopped by a signal", "run the same line again"}));
      CHECK(nlohmann::json::parse(read_file(world.dir / "report.json"))["stopped_by"] == signal);
      world.stop = std::make_unique<Stop>();
      check_goes_on(world);
    }
  }
}

TEST_CASE("a signal before the first write leaves nothing behind") {
  World world;
  world.forbid_writes();
  world.stop->request(SIGINT);
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 130);
}

}  // namespace decant::test
