// SPDX-License-Identifier: Apache-2.0
#include "decant/cache/inventory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cache_support.hpp"
#include "decant/base/clock.hpp"
#include "decant/fs/sys.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;

namespace {

constexpr std::int64_t k_day = 86'400;

// Two releases that share an object, an object of none, partials of the dead and the living, and what is not
// the cache's.
struct Filled {
  TempDir dir;
  cache::Cache cache{dir / "cache"};
  std::string a = random_bytes(1, 1000);
  std::string shared = random_bytes(2, 2000);
  std::string b = random_bytes(3, 3000);
  std::string lone = random_bytes(4, 4000);
  std::string half = random_bytes(5, 2 * cache::k_chunk_bytes);
  std::string dead_path;

  Filled() {
    for (const auto* content : {&a, &shared, &b, &lone}) bring(*content);
    cache.write_lock(lock_of('a', {&a, &shared, &half}));
    cache.write_lock(lock_of('b', {&b, &shared}));
    fs::DirHandle::open(directory_of(half), fs::Missing::create);
    dead_path = leave_behind(directory_of(half), hash::sha256(half).hex(), half, {1});
    write_file(path("notes.txt"), "mine");
    write_file(path("sha256/README"), "mine, too");
    write_file(directory_of(a) + "/" + hash::sha256(a).hex() + ".bak", "and mine");
  }
  std::string path(const std::string& below) const { return dir / "cache/" + below; }
  std::string directory_of(const std::string& content) const {
    return path("sha256/" + hash::sha256(content).hex().substr(0, 2));
  }
  std::string final_of(const std::string& content) const {
    return directory_of(content) + "/" + hash::sha256(content).hex();
  }
  void bring(const std::string& content) {
    const auto digest = hash::sha256(content);
    auto partial = cache.begin(digest, content.size(), Stop{});
    land_missing(partial, content);
    cache.finish(std::move(partial), digest);
  }
  static model::RestoreLock lock_of(char commit, const std::vector<const std::string*>& contents) {
    model::RestoreLock lock;
    lock.source = {.kind = model::SourceKind::hub,
                   .endpoint = "https://huggingface.co",
                   .repo_type = model::RepoType::dataset,
                   .repo = "org/name",
                   .requested_repo = {},
                   .requested_revision = "main",
                   .commit = std::string(40, commit)};
    lock.manifest_sha256 = hash::sha256("manifest");
    lock.release_id = std::string("release-") + commit;
    for (const auto* content : contents) {
      const auto digest = hash::sha256(*content);
      lock.parts.push_back({.name = digest.hex().substr(0, 8),
                            .path = rel(digest.hex().substr(0, 8)),
                            .size = content->size(),
                            .digest = digest,
                            .xet_hash = {}});
    }
    lock.tool_version = "0.1.0";
    return lock;
  }
  std::string lock_path(char commit) const {
    return path("releases/datasets/org/name/" + std::string(40, commit) + "/_root/restore_lock.json");
  }
  void age(const std::string& file, std::int64_t seconds) const {
    const struct timespec times[2] = {{now() - seconds, 0}, {now() - seconds, 0}};
    REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  }
  static std::int64_t now() { return system_clock().wall_seconds(); }
  cache::Inventory inventory() const { return cache::take_inventory(cache, Stop{}); }
  cache::PruneResult prune(const cache::PruneChoice& choice) const {
    return cache::prune(cache, inventory(), choice, now(), Stop{});
  }
  void check_foreign_untouched() const {
    CHECK(read_file(path("notes.txt")) == "mine");
    CHECK(read_file(path("sha256/README")) == "mine, too");
    CHECK(read_file(final_of(a) + ".bak") == "and mine");
  }
};

std::multiset<std::string> kinds(const cache::PruneResult& result) {
  std::multiset<std::string> out;
  for (const auto& item : result.removed) out.insert(item.kind);
  return out;
}

}  // namespace

TEST_CASE("an inventory tells objects, what mentions them, leftovers and what is foreign") {
  const Filled f;
  const auto before = snapshot(f.dir.path());
  const auto found = f.inventory();
  CHECK(snapshot(f.dir.path()) == before);
  REQUIRE(found.objects.size() == 4);
  for (const auto& object : found.objects) {
    CHECK(object.sealed);
    const std::size_t wanted = object.digest == hash::sha256(f.shared) ? 2
                               : object.digest == hash::sha256(f.lone) ? 0
                                                                       : 1;
    CHECK(object.mentioned.size() == wanted);
  }
  CHECK(found.object_bytes() == 10'000);
  REQUIRE(found.releases.size() == 2);
  CHECK(found.releases[0].objects == 3);
  CHECK(found.releases[0].objects_here == 2);
  CHECK(found.releases[1].objects_here == 2);
  REQUIRE(found.partials.size() == 1);
  CHECK(found.partials[0].landed_bytes == cache::k_chunk_bytes);
  CHECK_FALSE(found.partials[0].is_held);
  CHECK(found.foreign.size() == 3);
  CHECK(found.leftovers.empty());
}

TEST_CASE("odd names in a cache are foreign, never objects") {
  Filled f;
  const std::string hex = hash::sha256(f.a).hex();
  const std::string shard = f.directory_of(f.a);
  const auto plant = [&](const std::string& path) { write_file(path, "x"); };
  SECTION("an object in the wrong directory") {
    fs::DirHandle::open(f.path("sha256/zz"), fs::Missing::create);
    plant(f.path("sha256/zz/") + hex);
  }
  SECTION("a digest in upper case") {
    std::string upper = hex;
    std::transform(upper.begin() + 2, upper.end(), upper.begin() + 2, ::toupper);
    plant(shard + "/" + upper);
  }
  SECTION("a partial of another form") {
    plant(shard + "/" + hex + ".partial.backup");
  }
  SECTION("a partial that is a link") {
    std::filesystem::create_directory_symlink(f.dir.path(), shard + "/" + hex + ".partial.0123456789abcdef");
  }
  SECTION("a link under an object's name") {
    std::filesystem::remove(f.final_of(f.a));
    std::filesystem::create_symlink(f.path("notes.txt"), f.final_of(f.a));
  }
  SECTION("a FIFO in place of a lock") {
    std::filesystem::remove(f.lock_path('a'));
    REQUIRE(::mkfifo(f.lock_path('a').c_str(), 0600) == 0);
  }
  SECTION("a damaged lock") {
    write_file(f.lock_path('a'), "{}");
  }
  CHECK(f.inventory().foreign.size() == 4);
  f.prune({.all = true});
  CHECK(f.inventory().foreign.size() == 4);
  f.check_foreign_untouched();
}

TEST_CASE("nothing is pruned by reference or age while a release record cannot be read") {
  const Filled f;
  write_file(f.lock_path('a'), "{\"trunc");
  const auto before = snapshot(f.dir.path());
  CHECK_THROWS_AS(f.prune({.unreferenced = true}), Error);
  CHECK_THROWS_AS(f.prune({.older_than = 0}), Error);
  CHECK(snapshot(f.dir.path()) == before);
}

TEST_CASE("nothing is pruned without a choice") {
  const Filled f;
  const auto before = snapshot(f.dir.path());
  CHECK(f.prune({}).removed.empty());
  CHECK(snapshot(f.dir.path()) == before);
}

TEST_CASE("a dry run says what would go and removes nothing") {
  const Filled f;
  const auto before = snapshot(f.dir.path());
  const auto would = f.prune({.all = true, .dry_run = true});
  CHECK(snapshot(f.dir.path()) == before);
  const auto did = f.prune({.all = true});
  CHECK(kinds(would) == kinds(did));
  CHECK(would.bytes() == did.bytes());
}

TEST_CASE("pruning everything leaves what is foreign and nothing else") {
  const Filled f;
  const auto result = f.prune({.all = true});
  CHECK(kinds(result) ==
        std::multiset<std::string>{"release", "release", "object", "object", "object", "object", "partial"});
  CHECK(result.problems.empty());
  f.check_foreign_untouched();
  const auto left = f.inventory();
  CHECK(left.objects.empty());
  CHECK(left.partials.empty());
  CHECK(left.releases.empty());
  CHECK(left.foreign.size() == 3);
}

TEST_CASE("pruning what no release mentions keeps all that one does") {
  const Filled f;
  const auto result = f.prune({.unreferenced = true});
  REQUIRE(result.removed.size() == 1);
  CHECK(result.removed[0].bytes == f.lone.size());
  CHECK_FALSE(exists(f.final_of(f.lone)));
  CHECK(exists(f.final_of(f.shared)));
  CHECK(exists(f.dead_path));  // a release mentions it: to go on with
}

TEST_CASE("pruning by age takes old releases with what only they mention") {
  const Filled f;
  f.age(f.lock_path('a'), 40 * k_day);
  for (const auto* content : {&f.a, &f.shared, &f.b}) f.age(f.final_of(*content), 40 * k_day);
  const auto result = f.prune({.older_than = 30 * k_day});
  CHECK(kinds(result) == std::multiset<std::string>{"release", "object"});
  CHECK_FALSE(exists(f.final_of(f.a)));
  CHECK(exists(f.final_of(f.shared)));  // old, but a newer release needs it
  CHECK(exists(f.final_of(f.b)));
  CHECK(exists(f.final_of(f.lone)));  // of no release, and young
  CHECK(exists(f.lock_path('b')));
}

TEST_CASE("age and being mentioned nowhere together spare all releases") {
  const Filled f;
  f.age(f.lock_path('a'), 40 * k_day);
  for (const auto* content : {&f.a, &f.lone}) f.age(f.final_of(*content), 40 * k_day);
  const auto result = f.prune({.unreferenced = true, .older_than = 30 * k_day});
  REQUIRE(result.removed.size() == 1);
  CHECK_FALSE(exists(f.final_of(f.lone)));
}

TEST_CASE("what a living process brings is never pruned") {
  Filled f;
  auto live = f.cache.begin(hash::sha256(f.a), f.a.size(), Stop{});
  const auto before = snapshot(live.path());
  const auto result = f.prune({.all = true});
  CHECK(result.kept.size() == 2);  // its partial, and the object of that name
  CHECK(snapshot(live.path()) == before);
  CHECK(exists(f.final_of(f.a)));
  land_missing(live, f.a);
  f.cache.finish(std::move(live), hash::sha256(f.a));
  CHECK(read_file(f.final_of(f.a)) == f.a);
}

TEST_CASE("a partial beside its whole object goes with any choice") {
  Filled f;
  const auto path = leave_behind(f.directory_of(f.b), hash::sha256(f.b).hex(), f.b, {0});
  CHECK(kinds(f.prune({.older_than = 30 * k_day})) == std::multiset<std::string>{"partial"});
  CHECK_FALSE(exists(path));
  CHECK(exists(f.final_of(f.b)));
}

TEST_CASE("killed at any change to the disk, the next prune ends with the same cache") {
  bool finished = false;
  for (unsigned long k = 1; !finished; ++k) {
    CAPTURE(k);
    REQUIRE(k < 100);
    const Filled f;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const fs::sys::ScopedHook hook{[&](std::string_view, unsigned long number) {
        if (number == k) ::_exit(9);
        return 0;
      }};
      f.prune({.all = true});
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    finished = WEXITSTATUS(status) == 0;
    REQUIRE((finished || WEXITSTATUS(status) == 9));
    for (const auto* content : {&f.a, &f.shared, &f.b, &f.lone})
      if (exists(f.final_of(*content))) CHECK(read_file(f.final_of(*content)) == *content);
    f.prune({.all = true});
    const auto left = f.inventory();
    CHECK(left.objects.empty());
    // Killed before it said whose it is, a directory may be somebody's for ten minutes; it is empty.
    for (const auto& partial : left.partials) CHECK((partial.is_held && partial.landed_bytes == 0));
    CHECK(left.releases.empty());
    CHECK(left.leftovers.empty());
    CHECK(left.foreign.size() == 3);
    f.check_foreign_untouched();
  }
}

TEST_CASE("there is no inventory of a directory that is not there") {
  const TempDir dir;
  CHECK_THROWS_AS(cache::take_inventory(cache::Cache{dir / "none"}, Stop{}), Error);
}
