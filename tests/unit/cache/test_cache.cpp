// SPDX-License-Identifier: Apache-2.0
#include "decant/cache/cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "cache_support.hpp"
#include "decant/base/error.hpp"
#include "decant/fs/sys.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;

namespace {

// A cache, an object, and where the object belongs.
struct Fixture {
  TempDir dir;
  std::string content = random_bytes(1, 2 * cache::k_chunk_bytes);
  hash::Digest digest = hash::sha256(content);
  cache::Cache cache{dir / "cache"};
  std::string directory = dir / "cache/sha256/" + digest.hex().substr(0, 2);
  std::string final_path = directory + "/" + digest.hex();

  void bring() {
    cache::Partial partial = cache.begin(digest, content.size(), Stop{});
    land_missing(partial, content);
    cache.finish(std::move(partial), digest);
  }
};

}  // namespace

TEST_CASE("an object arrives read-only under its digest") {
  Fixture f;
  f.bring();
  CHECK(read_file(f.final_path) == f.content);
  struct stat st {};
  REQUIRE(::lstat(f.final_path.c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0444);
  CHECK(f.cache.look(f.digest, f.content.size()).complete);
  CHECK(f.cache.open_final(f.digest, f.content.size()));
  CHECK(open_dir(f.directory).list().size() == 1);
}

TEST_CASE("git blob ids have a directory of their own") {
  Fixture f;
  hash::Hasher hasher{hash::Algorithm::git_sha1, f.content.size()};
  hasher.update(as_bytes(f.content));
  f.digest = hasher.finish();
  f.bring();
  CHECK(read_file(f.dir / "cache/git-sha1/" + f.digest.hex().substr(0, 2) + "/" + f.digest.hex()) ==
        f.content);
}

TEST_CASE("looking makes nothing") {
  const Fixture f;
  CHECK_FALSE(f.cache.look(f.digest, 5).complete);
  CHECK(f.cache.look(f.digest, 5).landed_bytes == 0);
  CHECK_FALSE(f.cache.open_final(f.digest, 5));
  CHECK(snapshot(f.dir.path()).empty());
}

TEST_CASE("looking tells what a leftover holds and leaves it as it is") {
  const Fixture f;
  std::filesystem::create_directories(f.directory);
  leave_behind(f.directory, f.digest.hex(), f.content, {1});
  const auto before = snapshot(f.dir.path());
  const auto facts = f.cache.look(f.digest, f.content.size());
  CHECK_FALSE(facts.complete);
  CHECK(facts.landed_bytes == cache::k_chunk_bytes);
  CHECK(snapshot(f.dir.path()) == before);
}

TEST_CASE("what is no regular file of the right size is no final") {
  Fixture f;
  std::filesystem::create_directories(f.directory);
  struct Row {
    const char* name;
    bool refused;  // by begin()
  };
  const Row row = GENERATE(Row{"shorter", false}, Row{"link", true}, Row{"dangling link", true},
                           Row{"FIFO", true}, Row{"directory", true});
  CAPTURE(row.name);
  const std::string name = row.name;
  write_file(f.dir / "victim", f.content);
  if (name == "shorter") write_file(f.final_path, f.content.substr(1));
  if (name == "link") std::filesystem::create_symlink(f.dir / "victim", f.final_path);
  if (name == "dangling link") std::filesystem::create_symlink("nowhere", f.final_path);
  if (name == "FIFO") REQUIRE(::mkfifo(f.final_path.c_str(), 0600) == 0);
  if (name == "directory") std::filesystem::create_directory(f.final_path);

  CHECK_FALSE(f.cache.look(f.digest, f.content.size()).complete);
  CHECK_FALSE(f.cache.open_final(f.digest, f.content.size()));
  if (row.refused) {
    try {
      f.cache.begin(f.digest, f.content.size(), Stop{});
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::conflict);
    }
  } else {
    f.bring();  // a cut copy of the cache: cannot be the object, so it is replaced
    CHECK(read_file(f.final_path) == f.content);
  }
  CHECK(read_file(f.dir / "victim") == f.content);
}

TEST_CASE("when another process was first, ours is dropped") {
  Fixture f;
  cache::Partial ours = f.cache.begin(f.digest, f.content.size(), Stop{});
  land_missing(ours, f.content);
  f.bring();
  struct stat before {};
  REQUIRE(::lstat(f.final_path.c_str(), &before) == 0);
  f.cache.finish(std::move(ours), f.digest);
  struct stat after {};
  REQUIRE(::lstat(f.final_path.c_str(), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
  CHECK(open_dir(f.directory).list().size() == 1);
}

TEST_CASE("a bad final is removed only while it is that very file") {
  Fixture f;
  f.bring();
  const auto bad = f.cache.open_final(f.digest, f.content.size());
  REQUIRE(bad);
  SECTION("it is") {
    CHECK(f.cache.remove_bad_final(f.digest, bad->get()));
    CHECK_FALSE(exists(f.final_path));
    CHECK(f.cache.remove_bad_final(f.digest, bad->get()));  // gone: fine
  }
  SECTION("it is, in a cache that may only be read") {
    const int refusal = GENERATE(EROFS, EACCES, EPERM);
    const fs::sys::ScopedHook hook{[&](std::string_view, unsigned long) { return refusal; }};
    CHECK_FALSE(f.cache.remove_bad_final(f.digest, bad->get()));
    CHECK(exists(f.final_path));
  }
  SECTION("it is, on a disk that fails") {
    const fs::sys::ScopedHook hook{[](std::string_view, unsigned long) { return EIO; }};
    CHECK_THROWS_AS(f.cache.remove_bad_final(f.digest, bad->get()), Error);
  }
  SECTION("somebody has brought a better one") {
    std::filesystem::remove(f.final_path);
    f.bring();
    CHECK(f.cache.remove_bad_final(f.digest, bad->get()));
    CHECK(exists(f.final_path));
  }
}

TEST_CASE("a cache that may only be read serves its finals") {
  Fixture f;
  f.bring();
  for (const std::string& path : {f.directory, f.dir / "cache/sha256", f.dir / "cache"}) {
    REQUIRE(::chmod(path.c_str(), 0555) == 0);
  }
  CHECK(f.cache.look(f.digest, f.content.size()).complete);
  CHECK(f.cache.open_final(f.digest, f.content.size()));
  if (::geteuid() != 0) {
    try {
      f.cache.begin(f.digest, f.content.size(), Stop{});
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::disk);
    }
  }
}
