// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>
#include <vector>

#include "decant/fs/owner.hpp"
#include "state_support.hpp"

using namespace decant;
using namespace decant::state;
using namespace decant::state::test;

namespace {

std::string owner_path(const TempDir& dir) {
  return dir / ".decant/owner";
}

// A child claims the bundle and dies without giving it up.
void leave_dead_claim(const TempDir& dir) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Bundle bundle = open_bundle(dir);
    ::_exit(bundle.claim(nullptr) == Ownership::taken ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
}

void set_age(const std::string& path, std::int64_t seconds) {
  const timespec times[2] = {{0, UTIME_OMIT}, {::time(nullptr) - seconds, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

fs::Owner far_owner() {
  fs::Owner owner = fs::this_process();
  owner.host = "node7";
  owner.pid = 4711;
  owner.since = 1700000000;
  return owner;
}

}  // namespace

TEST_CASE("a bundle is claimed once, and given up at the end") {
  TempDir dir;
  {
    Bundle first = open_bundle(dir);
    CHECK(first.claim(nullptr) == Ownership::taken);
    CHECK(read_file(owner_path(dir)) == fs::to_text(fs::this_process()));
    Bundle second = open_bundle(dir);
    std::string holder;
    CHECK(second.claim(&holder) == Ownership::busy);
    CHECK(holder.starts_with("pid " + std::to_string(::getpid()) + " on "));
    CHECK_FALSE(first.ownership_lost());
  }
  CHECK(snapshot(dir / ".decant").empty());
  Bundle third = open_bundle(dir);
  CHECK(third.claim(nullptr) == Ownership::taken);
}

TEST_CASE("the claim of a dead process is taken over") {
  TempDir dir;
  leave_dead_claim(dir);
  REQUIRE(exists(owner_path(dir)));
  Bundle bundle = open_bundle(dir);
  CHECK(bundle.claim(nullptr) == Ownership::taken);
  CHECK(read_file(owner_path(dir)) == fs::to_text(fs::this_process()));
  CHECK(snapshot(dir / ".decant").size() == 1);
}

TEST_CASE("an owner on another host is judged by its heartbeat") {
  TempDir dir;
  write_file(owner_path(dir), fs::to_text(far_owner()));
  Bundle bundle = open_bundle(dir);
  std::string holder;
  SECTION("fresh") {
    CHECK(bundle.claim(&holder) == Ownership::busy);
    CHECK(holder == "pid 4711 on node7 since 2023-11-14T22:13:20Z");
    CHECK(snapshot(dir / ".decant").size() == 1);
  }
  SECTION("nearly expired") {
    set_age(owner_path(dir), fs::k_heartbeat_expiry_seconds - 60);
    CHECK(bundle.claim(&holder) == Ownership::busy);
  }
  SECTION("expired") {
    set_age(owner_path(dir), fs::k_heartbeat_expiry_seconds + 60);
    CHECK(bundle.claim(&holder) == Ownership::taken);
  }
  SECTION("from a clock that is ahead") {
    set_age(owner_path(dir), -100000);
    CHECK(bundle.claim(&holder) == Ownership::busy);
  }
}

TEST_CASE("a claim that cannot be read is busy until it is old") {
  TempDir dir;
  write_file(owner_path(dir), "");
  std::string holder;
  CHECK(open_bundle(dir).claim(&holder) == Ownership::busy);
  CHECK(holder.starts_with("an unreadable claim since"));
  set_age(owner_path(dir), fs::k_heartbeat_expiry_seconds + 60);
  CHECK(open_bundle(dir).claim(&holder) == Ownership::taken);
}

TEST_CASE("a claim is not given up when somebody else has it by now") {
  TempDir dir;
  {
    Bundle bundle = open_bundle(dir);
    REQUIRE(bundle.claim(nullptr) == Ownership::taken);
    write_file(owner_path(dir), fs::to_text(far_owner()));
  }
  CHECK(read_file(owner_path(dir)) == fs::to_text(far_owner()));
}

TEST_CASE("an owner that was taken for dead learns it as soon as it asks") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  CHECK_FALSE(bundle.ownership_lost());  // never claimed
  REQUIRE(bundle.claim(nullptr) == Ownership::taken);
  CHECK_FALSE(bundle.ownership_lost());
  SECTION("another process has it") {
    write_file(owner_path(dir), fs::to_text(far_owner()));
  }
  SECTION("another process had it") {
    REQUIRE(::unlink(owner_path(dir).c_str()) == 0);
  }
  CHECK(bundle.ownership_lost());
}

TEST_CASE("of many who take over a dead claim exactly one wins") {
  sweep_in_memory();
  constexpr int k_takers = 6;
  constexpr int k_rounds = 25;
  for (int round = 0; round < k_rounds; ++round) {
    TempDir dir;
    leave_dead_claim(dir);
    int start[2];
    int hold[2];
    REQUIRE(::pipe(start) == 0);
    REQUIRE(::pipe(hold) == 0);
    std::vector<pid_t> takers;
    for (int i = 0; i < k_takers; ++i) {
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        ::close(start[1]);
        ::close(hold[1]);
        char byte = 0;
        if (::read(start[0], &byte, 1) != 0) ::_exit(9);
        int result = 9;
        try {
          Bundle bundle = open_bundle(dir);
          result = bundle.claim(nullptr) == Ownership::taken ? 1 : 0;
          // The winner lives until all have tried.
          if (result == 1 && ::read(hold[0], &byte, 1) != 0) ::_exit(9);
        } catch (const std::exception& error) {
          std::fprintf(stderr, "%s\n", error.what());
        }
        ::_exit(result);
      }
      takers.push_back(child);
    }
    ::close(start[0]);
    ::close(start[1]);  // all go on at once
    ::close(hold[0]);
    int busy = 0;
    for (int i = 0; i < k_takers - 1; ++i) {
      int status = 0;
      REQUIRE(::wait(&status) > 0);
      CHECK(WEXITSTATUS(status) == 0);
      ++busy;
    }
    ::close(hold[1]);
    int status = 0;
    REQUIRE(::wait(&status) > 0);
    CHECK(WEXITSTATUS(status) == 1);
    CHECK(busy == k_takers - 1);
  }
}

TEST_CASE("a taker that dies at any call leaves a claim that can be taken over") {
  sweep_in_memory();
  for (unsigned long k = 1;; ++k) {
    CAPTURE(k);
    TempDir dir;
    leave_dead_claim(dir);
    const bool killed = killed_at_call(k, [&] {
      Bundle bundle = open_bundle(dir);
      if (bundle.claim(nullptr) != Ownership::taken) throw std::runtime_error{"busy"};
    });
    { CHECK(open_bundle(dir).claim(nullptr) == Ownership::taken); }
    // Nobody can say whose an empty file is, until it is old.
    for (const auto& [name, what] : snapshot(dir / ".decant")) set_age(dir / (".decant/" + name), 700);
    { CHECK(open_bundle(dir).claim(nullptr) == Ownership::taken); }
    CHECK(snapshot(dir / ".decant").empty());
    if (!killed) break;
    REQUIRE(k < 1000);
  }
}

TEST_CASE("a claim that fails can be tried again") {
  sweep_in_memory();
  for (unsigned long k = 1;; ++k) {
    CAPTURE(k);
    TempDir dir;
    leave_dead_claim(dir);
    Ownership got = Ownership::busy;
    Bundle bundle = open_bundle(dir);
    const bool failed = failed_at_call(
        k, EIO, [&] { got = bundle.claim(nullptr); },
        [](const Error& error) { CHECK(error.kind() == ErrorKind::disk); });
    if (got != Ownership::taken) CHECK(bundle.claim(nullptr) == Ownership::taken);
    if (!failed) break;
    REQUIRE(k < 1000);
  }
}

TEST_CASE("what a killed writer left is removed with the next claim") {
  TempDir dir;
  write_file(dir / ".decant/.tmp-0123456789abcdef", "x");
  write_file(dir / ".decant/parts/.tmp-0123456789abcdef", "x");
  write_file(dir / ".decant/release/.tmp-0123456789abcdef", "x");
  write_file(dir / ".tmp-users-own", "x");
  { CHECK(open_bundle(dir).claim(nullptr) == Ownership::taken); }
  const auto after = snapshot(dir.path());
  CHECK(after.size() == 4);  // three directories and the user's file
  CHECK(after.contains(".tmp-users-own"));
}

TEST_CASE("a bundle that cannot be written cannot be claimed") {
  if (::geteuid() == 0) {
    WARN("skipped: permissions do not hold for root");
    return;
  }
  TempDir dir;
  REQUIRE(::chmod(dir.path().c_str(), 0555) == 0);
  try {
    open_bundle(dir).claim(nullptr);
    FAIL("claimed");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::disk);
  }
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
}
