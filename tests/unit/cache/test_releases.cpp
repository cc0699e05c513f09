// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "cache_support.hpp"
#include "decant/base/error.hpp"
#include "decant/cache/cache.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;

namespace {

constexpr std::string_view k_manifest = "{\"schema\": \"decant.release/1\"}\n";

model::RestoreLock example() {
  model::RestoreLock lock;
  lock.source = {.kind = model::SourceKind::hub,
                 .endpoint = "https://huggingface.co",
                 .repo_type = model::RepoType::dataset,
                 .repo = "org/name",
                 .requested_revision = "main",
                 .commit = std::string(40, 'a')};
  lock.release_path = rel("releases/r1");
  lock.manifest_sha256 = hash::sha256(k_manifest);
  lock.manifest_size = k_manifest.size();
  lock.release_id = "r1";
  lock.parts.push_back({.name = "p", .path = rel("p.tar.zst"), .size = 5, .digest = hash::sha256("12345")});
  lock.tool_version = "0.1.0";
  return lock;
}

}  // namespace

TEST_CASE("a lock is found again by repo and release, at any commit") {
  const TempDir dir;
  cache::Cache cache{dir / "cache"};
  const model::RestoreLock first = example();
  model::RestoreLock second = example();
  second.source.commit = std::string(40, 'b');
  cache.write_lock(first);
  cache.write_lock(second);
  CHECK(exists(dir / "cache/releases/datasets/org/name/" + first.source.commit +
               "/releases/r1/restore_lock.json"));

  const auto locks = cache.find_locks(first.source, first.release_path);
  REQUIRE(locks.size() == 2);
  CHECK(locks[0].source.commit == first.source.commit);
  CHECK(locks[1].source.commit == second.source.commit);

  model::LockSource like = first.source;
  CHECK(cache.find_locks(like, rel("releases/r2")).empty());
  CHECK(cache.find_locks(like, {}).empty());
  like.repo = "org/other";
  CHECK(cache.find_locks(like, first.release_path).empty());
  like = first.source;
  like.repo_type = model::RepoType::model;
  CHECK(cache.find_locks(like, first.release_path).empty());
}

TEST_CASE("a lock of a release at the top, and one of a directory") {
  const TempDir dir;
  cache::Cache cache{dir / "cache"};
  model::RestoreLock lock = example();
  lock.release_path = {};
  cache.write_lock(lock);
  CHECK(exists(dir / "cache/releases/datasets/org/name/" + lock.source.commit + "/_root/restore_lock.json"));
  CHECK(cache.find_locks(lock.source, {}).size() == 1);

  lock.source = {.kind = model::SourceKind::directory};
  cache.write_lock(lock);
  CHECK(exists(dir / "cache/releases/directory/" + lock.manifest_sha256.hex() + "/_root/restore_lock.json"));
  CHECK(cache.find_locks(lock.source, {}).size() == 1);
}

TEST_CASE("a local manifest over the same commit does not take the place of the repo's own") {
  const TempDir dir;
  cache::Cache cache{dir / "cache"};
  model::RestoreLock lock = example();
  cache.write_lock(lock);
  lock.manifest_origin = model::ManifestOrigin::local;
  lock.manifest_sha256 = hash::sha256("another");
  cache.write_lock(lock);
  CHECK(cache.find_locks(lock.source, lock.release_path).size() == 2);
}

TEST_CASE("damaged locks are left out") {
  const TempDir dir;
  cache::Cache cache{dir / "cache"};
  const model::RestoreLock lock = example();
  cache.write_lock(lock);
  const std::string pins = dir / "cache/releases/datasets/org/name/";
  const std::string path = pins + lock.source.commit + "/releases/r1/restore_lock.json";
  const std::string good = read_file(path);
  for (const std::string& bad : {std::string{}, good.substr(0, good.size() / 2), std::string{"{}"}}) {
    write_file(path, bad);
    CHECK(cache.find_locks(lock.source, lock.release_path).empty());
  }
  write_file(pins + "a-file", "x");
  write_file(path, good);
  CHECK(cache.find_locks(lock.source, lock.release_path).size() == 1);
}

TEST_CASE("the manifest beside a lock is given out only when it is the one") {
  const TempDir dir;
  cache::Cache cache{dir / "cache"};
  const model::RestoreLock lock = example();
  CHECK_FALSE(cache.read_manifest(lock));
  cache.write_manifest(lock, k_manifest);
  CHECK(cache.read_manifest(lock) == k_manifest);
  write_file(
      dir / "cache/releases/datasets/org/name/" + lock.source.commit + "/releases/r1/release_manifest.json",
      "tampered");
  CHECK_FALSE(cache.read_manifest(lock));
}

TEST_CASE("writing the same lock again writes nothing") {
  const TempDir dir;
  cache::Cache cache{dir / "cache"};
  const model::RestoreLock lock = example();
  cache.write_lock(lock);
  const std::string path =
      dir / "cache/releases/datasets/org/name/" + lock.source.commit + "/releases/r1/restore_lock.json";
  struct stat before {};
  REQUIRE(::lstat(path.c_str(), &before) == 0);
  cache.write_lock(lock);
  struct stat after {};
  REQUIRE(::lstat(path.c_str(), &after) == 0);
  CHECK(before.st_ino == after.st_ino);
}

TEST_CASE("a cache that is not there has no locks") {
  const TempDir dir;
  const cache::Cache cache{dir / "cache"};
  CHECK(cache.find_locks(example().source, {}).empty());
  CHECK_FALSE(cache.read_manifest(example()));
  CHECK(snapshot(dir.path()).empty());
}
