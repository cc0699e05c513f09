// SPDX-License-Identifier: Apache-2.0
// Who brings an object when several want it.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "cache_support.hpp"
#include "decant/base/error.hpp"
#include "decant/cache/cache.hpp"
#include "decant/fs/sys.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;

namespace {

struct Shared {
  TempDir dir;
  std::string content = random_bytes(1, 2 * cache::k_chunk_bytes);
  hash::Digest digest = hash::sha256(content);
  cache::Cache cache{dir / "cache"};
  std::string directory = dir / "cache/sha256/" + digest.hex().substr(0, 2);
  std::string turn = directory + "/" + digest.hex() + ".turn";

  std::optional<cache::Partial> begin(std::optional<cache::Claim>& claim) {
    return cache.begin_unless_claimed(digest, content.size(), Stop{}, claim);
  }
  std::size_t entries() const { return open_dir(directory).list().size(); }
};

void age(const std::string& path, std::int64_t seconds) {
  struct stat st {};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  const struct timespec times[2] = {{st.st_mtime - seconds, 0}, {st.st_mtime - seconds, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

std::string owner_line(const char* host, const char* boot) {
  fs::Owner owner = fs::this_process();
  if (host != nullptr) owner.host = host;
  if (boot != nullptr) owner.boot_id = boot;
  owner.nonce = "another";
  return fs::to_text(owner);
}

}  // namespace

TEST_CASE("an object that somebody living brings is left to it, and told with its signs of life") {
  Shared s;
  CHECK_FALSE(s.cache.claimed_by_other(s.digest, s.content.size()));
  std::optional<cache::Claim> claim;
  auto first = s.begin(claim);
  REQUIRE(first);
  CHECK_FALSE(claim);
  CHECK(s.entries() == 1);  // the turn is over

  CHECK_FALSE(s.begin(claim));
  REQUIRE(claim);
  CHECK(claim->holder.find("pid " + std::to_string(::getpid())) == 0);
  CHECK(claim->landed_bytes == 0);
  age(first->path() + "/owner", 100);
  age(first->path() + "/bytes/ranges", 100);
  const auto before = s.cache.claimed_by_other(s.digest, s.content.size());
  first->heartbeat();
  const auto beaten = s.cache.claimed_by_other(s.digest, s.content.size());
  land(*first, s.content, 0);
  const auto grown = s.cache.claimed_by_other(s.digest, s.content.size());
  REQUIRE((before && beaten && grown));
  CHECK(before->beat != beaten->beat);
  CHECK(before->record == beaten->record);
  CHECK(beaten->record != grown->record);
  CHECK(grown->landed_bytes == cache::k_chunk_bytes);

  land_missing(*first, s.content);
  s.cache.finish(*std::move(first), s.digest);
  CHECK_FALSE(s.begin(claim));
  CHECK_FALSE(claim);  // it is there
  CHECK(s.cache.look(s.digest, s.content.size()).sealed);
  CHECK(s.entries() == 1);
}

TEST_CASE("of many that begin an object at the same time one does") {
  for (int round = 0; round < 20; ++round) {
    Shared s;
    std::atomic<int> ready{0};
    std::atomic<int> begun{0};
    std::atomic<int> failed{0};
    std::vector<std::optional<cache::Partial>> partials(8);
    std::vector<std::thread> threads;
    for (auto& partial : partials) {
      threads.emplace_back([&] {
        ++ready;
        while (ready < 8) std::this_thread::yield();
        try {
          std::optional<cache::Claim> claim;
          partial = s.begin(claim);
          if (partial) ++begun;
        } catch (const Error&) {
          ++failed;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(failed == 0);
    CHECK(begun == 1);
    CHECK(s.entries() == 1);
  }
}

TEST_CASE("a leftover is claimed although others would rather wait") {
  Shared s;
  fs::DirHandle::open(s.directory, fs::Missing::create);
  leave_behind(s.directory, s.digest.hex(), s.content, {1});
  std::optional<cache::Claim> claim;
  const auto partial = s.begin(claim);
  REQUIRE(partial);
  CHECK(partial->landed_bytes() == cache::k_chunk_bytes);
}

TEST_CASE("a turn is waited for while its owner may live, and taken when it is dead") {
  Shared s;
  fs::DirHandle::open(s.directory, fs::Missing::create);
  std::optional<cache::Claim> claim;
  SECTION("of a process of an earlier boot") {
    write_file(s.turn, owner_line(nullptr, "an-earlier-boot"));
    CHECK(s.begin(claim));
    CHECK(s.entries() == 1);
  }
  SECTION("of another host, just now") {
    write_file(s.turn, owner_line("another-node", nullptr));
    CHECK_FALSE(s.begin(claim));
    REQUIRE(claim);
    CHECK(claim->holder.find("another-node") != std::string::npos);
    CHECK(read_file(s.turn) == owner_line("another-node", nullptr));
    CHECK(s.entries() == 1);
  }
  SECTION("of another host, minutes ago") {
    write_file(s.turn, owner_line("another-node", nullptr));
    age(s.turn, 100);
    CHECK(s.begin(claim));
    CHECK(s.entries() == 1);
  }
  SECTION("garbage, minutes ago") {
    write_file(s.turn, std::string(100, '\0'));
    age(s.turn, 100);
    CHECK(s.begin(claim));
    CHECK(s.entries() == 1);
  }
}

TEST_CASE("killed at any change to the disk while it begins, a process stands in nobody's way") {
  bool finished = false;
  for (unsigned long k = 1; !finished; ++k) {
    CAPTURE(k);
    REQUIRE(k < 100);
    Shared s;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const fs::sys::ScopedHook hook{[&](std::string_view, unsigned long number) {
        if (number == k) ::_exit(9);
        return 0;
      }};
      try {
        std::optional<cache::Claim> claim;
        s.begin(claim);
      } catch (...) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    finished = WEXITSTATUS(status) == 0;
    REQUIRE((finished || WEXITSTATUS(status) == 9));
    std::optional<cache::Claim> claim;
    auto partial = s.begin(claim);
    REQUIRE(partial);
    land_missing(*partial, s.content);
    s.cache.finish(*std::move(partial), s.digest);
    s.cache.remove_leftovers(s.digest, s.content.size());
    CHECK(read_file(s.directory + "/" + s.digest.hex()) == s.content);
    // Killed before it said whose it is, a name may be somebody's for a while; it is empty.
    for (const auto& [name, what] : snapshot(s.directory)) {
      if (name != s.digest.hex() && what.starts_with("file"))
        CHECK(what.find(" size 0 ") != std::string::npos);
    }
  }
}

TEST_CASE("a whole file that was put there is complete, and sealed once it was hashed") {
  Shared s;
  fs::DirHandle::open(s.directory, fs::Missing::create);
  write_file(s.directory + "/" + s.digest.hex(), s.content);
  const auto facts = s.cache.look(s.digest, s.content.size());
  CHECK(facts.complete);
  CHECK_FALSE(facts.sealed);
  const auto fd = s.cache.open_final(s.digest, s.content.size());
  REQUIRE(fd);
  s.cache.seal(fd->get());
  CHECK(s.cache.look(s.digest, s.content.size()).sealed);
}

TEST_CASE("directories of a cache are as open as the umask says") {
  const auto [mask, mode] = GENERATE(table<mode_t, mode_t>({{002, 0775}, {022, 0755}, {077, 0700}}));
  Shared s;
  const mode_t before = ::umask(mask);
  const auto partial = s.cache.begin(s.digest, s.content.size(), Stop{});
  ::umask(before);
  struct stat st {};
  REQUIRE(::stat(s.directory.c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == mode);
}
