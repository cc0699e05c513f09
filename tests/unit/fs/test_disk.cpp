// SPDX-License-Identifier: Apache-2.0
#include "decant/fs/disk.hpp"

#include "helpers.hpp"

namespace {

using decant::fs::disk_facts;
using namespace decant::fs::test;

TEST_CASE("a path that does not exist yet is judged by its nearest directory") {
  const TempDir dir;
  const auto facts = disk_facts(dir / "a/b/c");
  CHECK(facts.path == dir.path());
  CHECK(facts.device == disk_facts(dir.path()).device);
  CHECK(facts.total_bytes > 0);
  CHECK(facts.free_bytes <= facts.total_bytes);
  CHECK_FALSE(facts.type.empty());
  CHECK(facts.writable);
  CHECK(open_root(dir).list().empty());
  CHECK(disk_facts(dir / "a/b/c///").path == dir.path());
}

TEST_CASE("relative paths and the root have their directory too") {
  CHECK(disk_facts("surely/not/there").path == ".");
  CHECK(disk_facts("").path == ".");
  CHECK(disk_facts("/").path == "/");
  CHECK(disk_facts("/surely_not_there").path == "/");
}

TEST_CASE("nothing can be made below a file or a dangling link") {
  const TempDir dir;
  write_file(dir / "f", "");
  REQUIRE(::symlink("nowhere", (dir / "dangling").c_str()) == 0);
  CHECK_THROWS_AS(disk_facts(dir / "f"), decant::Error);
  CHECK_THROWS_AS(disk_facts(dir / "f/x/y"), decant::Error);
  CHECK_THROWS_AS(disk_facts(dir / "dangling/x"), decant::Error);
  REQUIRE(::mkdir((dir / "d").c_str(), 0755) == 0);
  REQUIRE(::symlink("d", (dir / "link").c_str()) == 0);
  CHECK(disk_facts(dir / "link/x").path == dir / "link");
}

TEST_CASE("what is not a disk is told") {
  CHECK_FALSE(disk_facts("/proc").counts_inodes);
  CHECK(disk_facts("/proc").type == "0x9fa0");
  if (disk_facts("/dev/shm").type == "tmpfs") CHECK(disk_facts("/dev/shm").is_memory);
}

TEST_CASE("a directory where this user may not create is not writable") {
  if (skipped_as_root()) return;
  const TempDir dir;
  REQUIRE(::chmod(dir.path().c_str(), 0555) == 0);
  CHECK_FALSE(disk_facts(dir / "a").writable);
  REQUIRE(::chmod(dir.path().c_str(), 0) == 0);
  CHECK_THROWS_AS(disk_facts(dir / "a/b"), decant::Error);
  REQUIRE(::chmod(dir.path().c_str(), 0755) == 0);
}

}  // namespace
