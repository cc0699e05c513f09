// SPDX-License-Identifier: Apache-2.0
// Which leftovers are claimed, by whom, and how much of them counts.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "cache_support.hpp"
#include "decant/base/error.hpp"
#include "decant/base/stop.hpp"
#include "decant/cache/partial.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;
using cache::ChunkState;
using cache::k_chunk_bytes;

namespace {

std::size_t entries(const TempDir& dir) {
  return open_dir(dir.path()).list().size();
}

void overwrite(const std::string& path, std::uint64_t offset, const std::string& bytes) {
  std::fstream file{path, std::ios::binary | std::ios::in | std::ios::out};
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
}

void set_age(const std::string& path, std::int64_t seconds) {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  const auto then = std::chrono::duration_cast<std::chrono::seconds>(time).count() - seconds;
  const struct timespec times[2] = {{then, 0}, {then, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
}

fs::Owner init_process() {
  fs::Owner owner = fs::this_process();
  owner.pid = 1;
  std::stringstream stat{read_file("/proc/1/stat")};
  std::string word;
  std::getline(stat, word, ')');
  for (int field = 3; field <= 22; ++field) stat >> word;
  owner.start_time = std::stoull(word);
  return owner;
}

fs::Owner elsewhere() {
  fs::Owner owner = fs::this_process();
  owner.host = "another-node";
  return owner;
}

}  // namespace

TEST_CASE("what an ended process had landed is there for the next one") {
  const TempDir dir;
  const std::string content = random_bytes(1, 3 * k_chunk_bytes + 5);
  leave_behind(dir.path(), "f", content, {0, 3});
  CHECK(cache::Partial::landed_bytes_of_leftovers(open_dir(dir.path()), "f", content.size()) ==
        k_chunk_bytes + 5);

  cache::Partial partial = claim(dir.path(), "f", content);
  CHECK(partial.landed_bytes() == k_chunk_bytes + 5);
  CHECK(partial.chunk_state(0) == ChunkState::landed_earlier);
  CHECK(partial.chunk_state(1) == ChunkState::missing);
  CHECK(partial.chunk_state(3) == ChunkState::landed_earlier);
  CHECK(partial.confirm(0, as_bytes(chunk_of(content, partial, 0))));
  CHECK(partial.chunk_state(0) == ChunkState::landed);
  CHECK(entries(dir) == 1);
  land_missing(partial, content);
  REQUIRE(partial.finish(open_dir(dir.path()), rel("f"), 0444));
  CHECK(read_file(dir / "f") == content);
  CHECK(entries(dir) == 1);
}

TEST_CASE("this process claims what it closed, never what it has open") {
  const TempDir dir;
  const std::string content = random_bytes(2, 2 * k_chunk_bytes);
  {
    cache::Partial open = claim(dir.path(), "f", content);
    land(open, content, 0);
    const cache::Partial second = claim(dir.path(), "f", content);
    CHECK(second.landed_bytes() == 0);
    CHECK(open.path() != second.path());
    CHECK(entries(dir) == 2);
  }
  CHECK(claim(dir.path(), "f", content).landed_bytes() == k_chunk_bytes);
}

TEST_CASE("a living process keeps its partial") {
  const TempDir dir;
  const std::string content = random_bytes(3, k_chunk_bytes);
  const std::string path = leave_behind(dir.path(), "f", content, {0});
  write_file(path + "/owner", fs::to_text(init_process()));
  set_age(path + "/owner", 1'000'000);  // the process counts, not the heartbeat
  const auto before = snapshot(path);
  CHECK(cache::Partial::landed_bytes_of_leftovers(open_dir(dir.path()), "f", content.size()) == 0);
  CHECK(claim(dir.path(), "f", content).landed_bytes() == 0);
  CHECK(snapshot(path) == before);
}

TEST_CASE("another host's partial is copied once its heartbeat is old") {
  const TempDir dir;
  const std::string content = random_bytes(4, 3 * k_chunk_bytes);
  const std::string path = leave_behind(dir.path(), "f", content, {0, 1});
  write_file(path + "/owner", fs::to_text(elsewhere()));

  SECTION("a fresh one is left alone") {
    const auto before = snapshot(path);
    CHECK(claim(dir.path(), "f", content).landed_bytes() == 0);
    CHECK(snapshot(path) == before);
  }
  SECTION("an old one is copied, not shared") {
    set_age(path + "/owner", fs::k_heartbeat_expiry_seconds + 100);
    overwrite(path + "/bytes/data", k_chunk_bytes + 17, "flipped");
    const int theirs = ::open((path + "/bytes/data").c_str(), O_RDWR | O_CLOEXEC);
    REQUIRE(theirs >= 0);
    cache::Partial partial = claim(dir.path(), "f", content);
    CHECK(partial.chunk_state(0) == ChunkState::landed);  // its CRC was checked on the way
    CHECK(partial.chunk_state(1) == ChunkState::missing);
    CHECK_FALSE(exists(path));
    // The process wakes up and writes on.
    CHECK(::pwrite(theirs, "XXXX", 4, 0) == 4);
    ::close(theirs);
    land_missing(partial, content);
    REQUIRE(partial.finish(open_dir(dir.path()), rel("f"), 0444));
    CHECK(read_file(dir / "f") == content);
  }
  SECTION("the copying can be stopped") {
    set_age(path + "/owner", fs::k_heartbeat_expiry_seconds + 100);
    Stop stop;
    stop.request(2);
    CHECK_THROWS_AS(cache::Partial::claim_or_create(open_dir(dir.path()), "f", content.size(),
                                                    hash::sha256(content), stop),
                    Interrupted);
    CHECK(exists(path));
  }
}

TEST_CASE("a partial without owner is somebody's who is about to say so, until it is old") {
  const TempDir dir;
  const std::string content = random_bytes(5, k_chunk_bytes);
  const std::string path = leave_behind(dir.path(), "f", content, {0});
  const auto [name, owner] =
      GENERATE(table<const char*, const char*>({{"empty", ""}, {"garbage", "who?\n"}}));
  CAPTURE(name);
  write_file(path + "/owner", owner);
  CHECK(claim(dir.path(), "f", content).landed_bytes() == 0);
  CHECK(exists(path));
  set_age(path + "/owner", fs::k_heartbeat_expiry_seconds + 100);
  CHECK(claim(dir.path(), "f", content).landed_bytes() == k_chunk_bytes);
}

TEST_CASE("damage to a leftover costs what is damaged and no more") {
  const std::string content = random_bytes(6, 3 * k_chunk_bytes);
  const std::string other = random_bytes(7, 3 * k_chunk_bytes);
  struct Row {
    const char* name;
    std::uint64_t chunks_left;
    std::function<void(const std::string& path, const TempDir& aside)> damage;
  };
  const std::vector<Row> rows{
      {"none", 3, [](auto&, auto&) {}},
      {"slot zeroed", 2,
       [](auto& path, auto&) { overwrite(path + "/bytes/ranges", 96 + 8, std::string(8, '\0')); }},
      {"slot torn", 2,
       [](auto& path, auto&) { overwrite(path + "/bytes/ranges", 96 + 8, std::string(3, 'x')); }},
      {"record cut in a slot", 1,
       [](auto& path, auto&) { std::filesystem::resize_file(path + "/bytes/ranges", 96 + 8 + 5); }},
      {"record cut after the header", 0,
       [](auto& path, auto&) { std::filesystem::resize_file(path + "/bytes/ranges", 96); }},
      {"record cut in the header", 3,
       [](auto& path, auto&) { std::filesystem::resize_file(path + "/bytes/ranges", 50); }},
      {"record empty", 3, [](auto& path, auto&) { std::filesystem::resize_file(path + "/bytes/ranges", 0); }},
      {"record zeroed", 3,
       [](auto& path, auto&) { write_file(path + "/bytes/ranges", std::string(96 + 24, '\0')); }},
      {"record larger than any", 3,
       [](auto& path, auto&) { std::filesystem::resize_file(path + "/bytes/ranges", 1 << 30); }},
      {"record of other content", 0,
       [&](auto& path, auto& aside) {
         const std::string foreign = leave_behind(aside.path(), "f", other, {0, 1, 2});
         write_file(path + "/bytes/ranges", read_file(foreign + "/bytes/ranges"));
       }},
      {"slots of another record of the same content", 0,
       [&](auto& path, auto& aside) {
         const std::string foreign = leave_behind(aside.path(), "f", content, {0, 1, 2});
         overwrite(path + "/bytes/ranges", 96, read_file(foreign + "/bytes/ranges").substr(96));
       }},
      {"data cut in the last chunk", 2,
       [&](auto& path, auto&) { std::filesystem::resize_file(path + "/bytes/data", content.size() - 1); }},
      {"data empty", 0, [](auto& path, auto&) { std::filesystem::resize_file(path + "/bytes/data", 0); }},
      {"data longer", 3,
       [&](auto& path, auto&) { std::filesystem::resize_file(path + "/bytes/data", content.size() + 1); }},
      {"data missing", 0, [](auto& path, auto&) { std::filesystem::remove(path + "/bytes/data"); }},
      {"data read-only", 3, [](auto& path, auto&) { ::chmod((path + "/bytes/data").c_str(), 0444); }},
      {"record missing", 3, [](auto& path, auto&) { std::filesystem::remove(path + "/bytes/ranges"); }},
      {"bytes missing", 0, [](auto& path, auto&) { std::filesystem::remove_all(path + "/bytes"); }},
      {"data a link", 0,
       [](auto& path, auto& aside) {
         std::filesystem::rename(path + "/bytes/data", aside / "victim");
         std::filesystem::create_symlink(aside / "victim", path + "/bytes/data");
       }},
      {"data with a second name", 0,
       [](auto& path, auto& aside) {
         std::filesystem::create_hard_link(path + "/bytes/data", aside / "victim");
       }},
      {"data a FIFO", 0,
       [](auto& path, auto&) {
         std::filesystem::remove(path + "/bytes/data");
         REQUIRE(::mkfifo((path + "/bytes/data").c_str(), 0600) == 0);
       }},
      {"record a link", 0,
       [](auto& path, auto& aside) {
         std::filesystem::rename(path + "/bytes/ranges", aside / "victim");
         std::filesystem::create_symlink(aside / "victim", path + "/bytes/ranges");
       }},
      {"record a FIFO", 0,
       [](auto& path, auto&) {
         std::filesystem::remove(path + "/bytes/ranges");
         REQUIRE(::mkfifo((path + "/bytes/ranges").c_str(), 0600) == 0);
       }},
      {"bytes a link", 0,
       [](auto& path, auto& aside) {
         std::filesystem::rename(path + "/bytes", aside / "victim");
         std::filesystem::create_directory_symlink(aside / "victim", path + "/bytes");
       }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const TempDir dir;
    const TempDir aside;
    const std::string path = leave_behind(dir.path(), "f", content, {0, 1, 2});
    row.damage(path, aside);
    const auto outside = snapshot(aside.path());

    cache::Partial partial = claim(dir.path(), "f", content);
    CHECK(partial.landed_bytes() == row.chunks_left * k_chunk_bytes);
    CHECK(entries(dir) == 1);
    land_missing(partial, content);
    REQUIRE(partial.finish(open_dir(dir.path()), rel("f"), 0444));
    CHECK(read_file(dir / "f") == content);
    CHECK(entries(dir) == 1);
    CHECK(snapshot(aside.path()) == outside);
  }
}

TEST_CASE("data whose record was lost counts where it has no holes, until its bytes were seen") {
  const TempDir dir;
  std::string content = random_bytes(13, 4 * k_chunk_bytes);
  content.replace(3 * k_chunk_bytes, k_chunk_bytes, k_chunk_bytes, '\0');
  const std::string path = leave_behind(dir.path(), "f", content, {0, 2, 3});
  std::filesystem::remove(path + "/bytes/ranges");
  std::string second;
  {
    cache::Partial partial = claim(dir.path(), "f", content);
    CHECK(partial.chunk_state(0) == ChunkState::landed_earlier);
    CHECK(partial.chunk_state(1) == ChunkState::missing);
    CHECK(partial.confirm(0, as_bytes(chunk_of(content, partial, 0))));
    CHECK(partial.chunk_state(0) == ChunkState::landed);
    // Zeros may be what nobody wrote.
    CHECK_FALSE(partial.confirm(3, as_bytes(chunk_of(content, partial, 3))));
    CHECK(partial.chunk_state(3) == ChunkState::missing);
    second = partial.path();
  }
  kill_owner(second);
  // The next process knows the CRC of what was read, and still none of what was not.
  cache::Partial partial = claim(dir.path(), "f", content);
  CHECK(partial.landed_bytes() == 2 * k_chunk_bytes);
  std::string other{chunk_of(content, partial, 0)};
  other[0] ^= 1;
  CHECK_FALSE(partial.confirm(0, as_bytes(other)));
  CHECK(partial.confirm(2, as_bytes(chunk_of(content, partial, 2))));
}

TEST_CASE("what a living process has is copied only when that was asked for, and stays its own") {
  const TempDir dir;
  const std::string content = random_bytes(14, 2 * k_chunk_bytes);
  cache::Partial still = claim(dir.path(), "f", content);
  land(still, content, 1);
  const auto before = snapshot(still.path());
  CHECK(claim(dir.path(), "f", content).landed_bytes() == 0);
  cache::Partial partial = cache::Partial::claim_or_create(open_dir(dir.path()), "f", content.size(),
                                                           hash::sha256(content), Stop{}, cache::Held::copy);
  CHECK(partial.landed_bytes() == k_chunk_bytes);
  CHECK(snapshot(still.path()) == before);
  land_missing(still, content);
  land_missing(partial, content);
  CHECK(partial.finish(open_dir(dir.path()), rel("f"), 0444));
  CHECK_FALSE(still.finish(open_dir(dir.path()), rel("f"), 0444));
  CHECK(read_file(dir / "f") == content);
}

TEST_CASE("a planted owner cannot hang or lead us") {
  const TempDir dir;
  const std::string content = random_bytes(8, 10);
  const std::string path = leave_behind(dir.path(), "f", content, {0});
  std::filesystem::remove(path + "/owner");
  SECTION("a FIFO") {
    REQUIRE(::mkfifo((path + "/owner").c_str(), 0600) == 0);
  }
  SECTION("a link") {
    std::filesystem::create_symlink("/proc/self/mem", path + "/owner");
  }
  SECTION("huge") {
    write_file(path + "/owner", "");
    std::filesystem::resize_file(path + "/owner", 1 << 30);
  }
  CHECK(claim(dir.path(), "f", content).landed_bytes() == 0);
  CHECK(exists(path));
}

TEST_CASE("a partial's name that is a link or a file is passed over") {
  const TempDir dir;
  const TempDir aside;
  const std::string content = random_bytes(9, 10);
  const std::string path = leave_behind(dir.path(), "f", content, {0});
  std::filesystem::rename(path, aside / "victim");
  std::filesystem::create_directory_symlink(aside / "victim", path);
  write_file(dir / "f.partial.file", "");
  const auto outside = snapshot(aside.path());
  CHECK(claim(dir.path(), "f", content).landed_bytes() == 0);
  CHECK(snapshot(aside.path()) == outside);
}

TEST_CASE("leftovers of another name, size or content are not taken") {
  const TempDir dir;
  const std::string content = random_bytes(10, k_chunk_bytes + 10);
  leave_behind(dir.path(), "f", content, {0, 1});
  CHECK(cache::Partial::landed_bytes_of_leftovers(open_dir(dir.path()), "f", content.size() + 1) == 0);
  CHECK(claim(dir.path(), "g", content).landed_bytes() == 0);
  SECTION("size") {
    CHECK(claim(dir.path(), "f", content + "x").landed_bytes() == 0);
  }
  SECTION("content") {
    std::string other = content;
    other[0] ^= 1;
    CHECK(claim(dir.path(), "f", other).landed_bytes() == 0);
  }
  CHECK(open_dir(dir.path()).list().size() == 2);  // the useless one is gone
}

TEST_CASE("the leftover with most landed bytes is claimed, empty ones are removed") {
  const TempDir dir;
  const std::string content = random_bytes(11, 3 * k_chunk_bytes);
  // Made side by side, as by processes that ran at the same time.
  std::vector<std::string> paths;
  {
    std::vector<cache::Partial> open;
    for (int i = 0; i < 4; ++i) open.push_back(claim(dir.path(), "f", content));
    land(open[1], content, 0);
    land(open[2], content, 0);
    land(open[2], content, 1);
    for (const auto& partial : open) paths.push_back(partial.path());
  }
  for (const auto& path : paths) kill_owner(path);
  CHECK(claim(dir.path(), "f", content).landed_bytes() == 2 * k_chunk_bytes);
  CHECK_FALSE(exists(paths[0]));
  CHECK(exists(paths[1]));
  CHECK_FALSE(exists(paths[2]));
  CHECK_FALSE(exists(paths[3]));
}

TEST_CASE("of many that claim the same leftover one wins") {
  const std::string content = random_bytes(12, k_chunk_bytes + 1);
  for (int round = 0; round < 20; ++round) {
    const TempDir dir;
    leave_behind(dir.path(), "f", content, {0});
    std::atomic<int> ready{0};
    std::atomic<int> winners{0};
    std::vector<std::unique_ptr<cache::Partial>> partials(8);
    std::vector<std::thread> threads;
    std::atomic<int> failures{0};
    for (auto& partial : partials) {
      threads.emplace_back([&] {
        ++ready;
        while (ready < 8) std::this_thread::yield();
        try {
          partial = std::make_unique<cache::Partial>(claim(dir.path(), "f", content));
          if (partial->landed_bytes() != 0) ++winners;
          land_missing(*partial, content);
        } catch (const Error&) {
          ++failures;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(failures == 0);
    CHECK(winners == 1);
    int finished = 0;
    for (auto& partial : partials) {
      REQUIRE(partial);
      if (partial->finish(open_dir(dir.path()), rel("f"), 0444)) {
        ++finished;
      } else {
        partial->discard();
      }
    }
    CHECK(finished == 1);
    CHECK(read_file(dir / "f") == content);
    CHECK(entries(dir) == 1);
  }
}
