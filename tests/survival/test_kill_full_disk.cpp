// SPDX-License-Identifier: Apache-2.0
// A file system that is too small, and one that turns out to be: a tmpfs of our own, so as root only.
#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runs.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace decant;
using namespace decant::test;

namespace {

class SmallDisk {
 public:
  SmallDisk(std::string path, int mib) : path_{std::move(path)} {
    write_file(path_ + "/below", "");
    mounted_ = change(mib, 0);
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool is_mounted() const { return mounted_; }
  bool grow(int mib) const { return change(mib, MS_REMOUNT); }

 private:
  bool change(int mib, unsigned long flags) const {
    return ::mount("decant-test", path_.c_str(), "tmpfs", flags, fmt::format("size={}m", mib).c_str()) == 0;
  }
  std::string path_;
  bool mounted_ = false;
};

}  // namespace

TEST_CASE("a release that does not fit is refused before anything is written", "[root]") {
  const World world;
  const SmallDisk disk{world.bundle(), 6};
  if (!disk.is_mounted()) {
    WARN("skipped: cannot mount a tmpfs (" << std::strerror(errno) << ")");
    return;
  }
  const LargeRelease release{8};
  TestHub hub;
  hub.add_repo({.id = "org/small"}).add_commit(repo_files(release.parts));
  for (const bool plan_only : {true, false}) {
    const auto outcome = run_here(world.restore(
        hub.endpoint(), plan_only ? std::vector<std::string>{"--plan-only"} : std::vector<std::string>{}));
    INFO(outcome.all());
    CHECK(outcome.code == 6);
    CHECK(outcome.all().find(world.bundle()) != std::string::npos);
    CHECK(snapshot(world.bundle()).empty());
  }
}

TEST_CASE("a disk that fills up while a part is unpacked is named, and more space is enough to go on",
          "[root]") {
  const World world;
  const SmallDisk disk{world.bundle(), 12};
  if (!disk.is_mounted()) {
    WARN("skipped: cannot mount a tmpfs (" << std::strerror(errno) << ")");
    return;
  }
  // Nobody states how large it is unpacked: 24 MiB of it.
  Wanted bundle;
  std::vector<Part> parts;
  for (const auto& [name, files] : {std::pair{"few", 2}, std::pair{"many", 24}}) {
    Tree tree;
    for (int i = 0; i < files; ++i) tree.file(fmt::format("{}-{}", name, i), std::string(k_mib, 'x'));
    tree.add_to(bundle, "");
    parts.push_back({.name = name,
                     .content = zstd_frame(tree.tar()),
                     .where = R"("unpack": {"root": "bundle", "under": ""})",
                     .size = {},
                     .sha256 = {}});
  }
  TestHub hub;
  hub.add_repo({.id = "org/small"}).add_commit(repo_files(parts));
  const auto line = world.restore(hub.endpoint(), {"--jobs", "1"});
  for (int round = 0; round < 2; ++round) {
    const auto full = run_here(line);
    INFO(full.all());
    CHECK(full.code == 6);
    CHECK(full.all().find(world.bundle()) != std::string::npos);
    CHECK(full.all().find("no space") != std::string::npos);
    CHECK(world.tree().empty());
  }
  const auto served = hub.counters().bytes_cdn;
  REQUIRE(disk.grow(64));
  const auto again = run_here(line);
  INFO(again.all());
  CHECK(again.code == 0);
  CHECK(world.tree() == world.wanted(bundle, {}));
  CHECK(hub.counters().bytes_cdn <= served + 64);  // what had arrived was kept
}
