// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "cli_world.hpp"
#include "support/catch.hpp"

// Where a release may come from: hub, directory, a manifest of one's own, a repo without any.
namespace decant::test {
namespace {

namespace stdfs = std::filesystem;

// A checkpoint: small files in git, big ones in LFS.
std::vector<HubFile> checkpoint() {
  return {{"config.json", "{\"hidden_size\": 8}\n", Store::regular},
          {"empty.txt", "", Store::regular},
          {"iter_1/__0_0.distcp", random_bytes(50, 300'000), Store::lfs},
          {"iter_1/__1_0.distcp", random_bytes(51, 200'000), Store::lfs},
          {"iter_1/.metadata", "meta", Store::regular},
          {"iter_2/__0_0.distcp", random_bytes(52, 100'000), Store::xet},
          {"optimizer/rng_state.pt", random_bytes(53, 5'000), Store::regular}};
}

Tree checkpoint_tree() {
  Tree tree;
  for (const auto& file : checkpoint()) {
    tree[file.path] = file.content.text();
    if (const auto slash = file.path.find('/'); slash != std::string::npos)
      tree[file.path.substr(0, slash)] = "DIR";
  }
  return tree;
}

// Bytes of regular files below a directory.
std::uint64_t size_below(const std::string& directory) {
  std::uint64_t sum = 0;
  if (!exists(directory)) return 0;
  for (const auto& entry : stdfs::recursive_directory_iterator{directory})
    if (entry.is_regular_file() && !entry.is_symlink()) sum += entry.file_size();
  return sum;
}

}  // namespace

TEST_CASE("a repo without a manifest is restored as it is, a dataset or a model") {
  for (const std::string type : {"dataset", "model"}) {
    DYNAMIC_SECTION(type) {
      World world;
      auto& repo = world.hub.add_repo({.type = type, .id = "org/ckpt", .lfs_min = 64 * 1024});
      repo.add_commit(checkpoint());
      const Args line{"org/ckpt", "--repo-type", type, "--bundle", world.bundle()};
      const auto with = [&](std::string command) {
        Args args{std::move(command)};
        args.insert(args.end(), line.begin(), line.end());
        return world.run(args);
      };
      const auto plan = with("plan");
      INFO(plan);
      CHECK(plan.code == 0);
      CHECK(plan.out.substr(0, plan.out.find('\n')).find("no manifest") != std::string::npos);

      world.hub.clear_log();
      const auto ran = with("restore");
      INFO(ran);
      REQUIRE(ran.code == 0);
      CHECK(tree_of(world.bundle()) == checkpoint_tree());
      // No second copy in a cache, and no request for each file of the listing.
      CHECK(size_below(world.bundle() + "/.decant") < 100'000);

      world.hub.clear_log();
      world.forbid_writes();
      CHECK(with("restore").code == 0);
      CHECK(world.requests() == 0);
      const auto proof = world.run({"verify", "--bundle", world.bundle(), "--hash-media"});
      INFO(proof);
      CHECK(proof.code == 0);
      CHECK(has(proof.out, {"every byte hashed"}));
      CHECK(world.run({"status", "--bundle", world.bundle()}).code == 0);
    }
  }
}

TEST_CASE("loose files: some deleted, all deleted, one changed") {
  World world;
  world.repo.add_commit(checkpoint());
  const Args line{"restore", "org/release", "--bundle", world.bundle()};
  REQUIRE(world.run(line).code == 0);
  const auto with = [&](std::string flag) {
    auto args = line;
    args.push_back(std::move(flag));
    return world.run(args);
  };
  SECTION("some") {
    stdfs::remove(world.bundle() + "/iter_1/__1_0.distcp");
    stdfs::remove(world.bundle() + "/empty.txt");
    const auto told = world.run(line);
    INFO(told);
    CHECK(told.code == 3);
    CHECK(has(told, {"2 of 7", "--reextract"}));
    world.hub.clear_log();
    CHECK(with("--reextract").code == 0);
    CHECK(tree_of(world.bundle()) == checkpoint_tree());
    CHECK(world.bytes_from_cdn() <= 200'000 + 2);  // that file and no other
  }
  SECTION("all") {
    for (const auto& file : checkpoint()) stdfs::remove(world.bundle() + "/" + file.path);
    CHECK(world.run(line).code == 0);
    CHECK(tree_of(world.bundle()) == checkpoint_tree());
  }
  SECTION("one changed") {
    write_file(world.bundle() + "/config.json", "{}");
    const auto told = world.run(line);
    INFO(told);
    CHECK(told.code == 7);
    CHECK(has(told, {"config.json"}));
  }
}

TEST_CASE("of a loose repo, globs choose files and leave others unfetched") {
  World world;
  world.repo.add_commit(checkpoint());
  const auto run = [&](Args more) {
    Args args{"restore", "org/release", "--bundle", world.bundle()};
    args.insert(args.end(), more.begin(), more.end());
    world.hub.clear_log();
    return world.run(args);
  };
  const auto first = run({"--only", "iter_1/**", "--skip", "*/__1_0.distcp"});
  INFO(first);
  REQUIRE(first.code == 0);
  CHECK(tree_of(world.bundle()).size() == 3);
  CHECK(exists(world.bundle() + "/iter_1/__0_0.distcp"));
  CHECK(exists(world.bundle() + "/iter_1/.metadata"));
  CHECK(world.bytes_from_cdn() <= 300'001);
  CHECK(world.run({"verify", "--bundle", world.bundle()}).code == 0);

  const auto wider = run({"--only", "iter_1/**"});
  INFO(wider);
  CHECK(wider.code == 0);
  CHECK(exists(world.bundle() + "/iter_1/__1_0.distcp"));
  CHECK(world.bytes_from_cdn() <= 200'001);  // nothing of what was there

  const auto all = run({});
  INFO(all);
  CHECK(all.code == 0);
  CHECK(tree_of(world.bundle()) == checkpoint_tree());
}

TEST_CASE("a folder of a loose repo, and a repo with a manifest as loose files") {
  World world;
  SECTION("a folder") {
    world.repo.add_commit(checkpoint());
    const auto ran =
        world.run({"restore", "org/release", "--loose", "--release", "iter_1", "--bundle", world.bundle()});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(tree_of(world.bundle()).size() == 4);
  }
  SECTION("its archives stay packed") {
    const auto ran = world.run({"restore", "org/release", "--loose", "--bundle", world.bundle()});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(read_file(world.bundle() + "/releases/r1/data.tar.zst") == world.release.bytes_of("data"));
    CHECK(exists(world.bundle() + "/releases/r1/release_manifest.json"));
  }
}

TEST_CASE("a download cache that was named is filled with loose files, and asked for them") {
  World world;
  world.repo.add_commit(checkpoint());
  const auto run = [&](const std::string& bundle) {
    return world.run(
        {"restore", "org/release", "--bundle", world.dir / bundle, "--download-cache", world.cache()});
  };
  REQUIRE(run("one").code == 0);
  CHECK(exists(world.cache() + "/sha256"));
  CHECK(exists(world.cache() + "/git-sha1"));
  world.hub.clear_log();
  const auto ran = run("two");
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(tree_of(world.dir / "two") == checkpoint_tree());
  CHECK(world.bytes_from_cdn() == 0);
}

TEST_CASE("a directory with a copy of the repo is read in place") {
  World world;
  const auto copy = world.dir / "copy";
  world.release.write_to(copy);
  for (const auto& source : {"dir:" + copy, copy}) {
    DYNAMIC_SECTION(source.substr(0, 4)) {
      const Args line{"restore",  source,         "--release",      "releases/r1",
                      "--bundle", world.bundle(), "--runtime-root", world.runtime()};
      const auto before = stamps_of(copy);
      const auto ran = world.run(line);
      INFO(ran);
      REQUIRE(ran.code == 0);
      CHECK(world.is_restored());
      CHECK(stamps_of(copy) == before);
      CHECK(world.requests() == 0);
      CHECK(size_below(world.bundle() + "/.decant/cache") == 0);  // not copied first
      CHECK(world.verify({"--hash-media"}).code == 0);
      world.forbid_writes();
      CHECK(world.run(line).code == 0);
      CHECK(world.restore_again().code == 0);
    }
  }
}

TEST_CASE("a directory needs no connection, so --offline changes nothing") {
  World world;
  const auto copy = world.dir / "copy";
  world.release.write_to(copy);
  const auto ran = world.run({"restore", copy, "--release", "releases/r1", "--bundle", world.bundle(),
                              "--runtime-root", world.runtime(), "--offline"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.is_restored());
}

TEST_CASE("a directory of loose files") {
  World world;
  const auto copy = world.dir / "copy";
  for (const auto& file : checkpoint()) write_file(copy + "/" + file.path, file.content.text());
  const Args line{"restore", "dir:" + copy, "--bundle", world.bundle()};
  const auto ran = world.run(line);
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(tree_of(world.bundle()) == checkpoint_tree());
  CHECK(world.run({"verify", "--bundle", world.bundle(), "--hash-media"}).code == 0);
  world.forbid_writes();
  CHECK(world.run(line).code == 0);
}

TEST_CASE("a copy that is damaged or of another release is named") {
  World world;
  const auto copy = world.dir / "copy";
  world.release.write_to(copy);
  const Args line{"restore",  "dir:" + copy,  "--release",      "releases/r1",
                  "--bundle", world.bundle(), "--runtime-root", world.runtime()};
  SECTION("a flipped byte") {
    auto bytes = world.release.bytes_of("images_000");
    bytes[1000] = static_cast<char>(bytes[1000] ^ 1);
    write_file(copy + "/releases/r1/media/images_000.tar.zst", bytes);
    const auto ran = world.run(line);
    INFO(ran);
    CHECK(ran.code == 8);
    CHECK(has(ran, {"images_000", "expected:", "found:", "copy it anew"}));
    CHECK(tree_of(world.bundle()).empty());
  }
  SECTION("cut") {
    stdfs::resize_file(copy + "/releases/r1/media/images_000.tar.zst", 1000);
    const auto ran = world.run(line);
    INFO(ran);
    CHECK(ran.code == 8);
    CHECK(has(ran, {"images_000"}));
  }
  SECTION("a file that is missing") {
    stdfs::remove(copy + "/releases/r1/media/images_000.tar.zst");
    const auto ran = world.run(line);
    INFO(ran);
    CHECK(ran.code == 5);
    CHECK(has(ran, {"images_000"}));
  }
  SECTION("another release under the same path") {
    REQUIRE(world.run(line).code == 0);
    stdfs::remove_all(world.runtime() + "/qwen_env");
    SmallRelease other;
    other.manifest["release"]["id"] = "r2";
    other.write_to(copy);
    const auto ran = world.run(line);
    INFO(ran);
    CHECK(ran.code == 10);
    CHECK(has(ran, {"another release", "expected:", "found:"}));
  }
}

TEST_CASE("a manifest of one's own over a repo with a foreign one: the hub tells sizes and digests") {
  World world;
  auto own = world.release.manifest;
  for (auto& part : own["parts"]) {
    part.erase("size");
    part.erase("sha256");
  }
  const auto file = world.dir / "my_manifest.json";
  write_file(file, own.dump(1));
  const auto commit = world.commit_manifest(R"({"schema": "sft.release/3", "files": []})");
  const Args line{"restore",  "org/release",  "--manifest",     file,
                  "--bundle", world.bundle(), "--runtime-root", world.runtime()};
  const auto ran = world.run(line);
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(has(read_file(world.bundle() + "/restore_lock.json"), {commit, "\"local\"", "git-sha1"}));

  world.hub.clear_log();
  world.forbid_writes();
  CHECK(world.run(line).code == 0);
  CHECK(world.restore_again().code == 0);  // the manifest is kept in the bundle
  CHECK(world.requests() == 0);
  const auto proof = world.verify({"--hash-media"});
  INFO(proof);
  CHECK(proof.code == 0);

  world.forbid_writes(false);
  own["release"]["id"] = "other";
  write_file(file, own.dump(1));
  world.forbid_writes();
  const auto other = world.run(line);
  INFO(other);
  CHECK(other.code == 10);
  CHECK(has(other, {"another manifest", "expected:", "found:", "my_manifest.json"}));
}

TEST_CASE("the canonical name, and a root given inside the bundle") {
  World world;
  auto& repo = world.hub.add_repo({.id = "org/new", .renamed_from = {"org/old"}, .lfs_min = 64 * 1024});
  repo.add_commit(world.release.commit_files());
  const Args line{"restore",  "org/old",      "--release",      "releases/r1",
                  "--bundle", world.bundle(), "--runtime-root", world.bundle() + "/env"};
  const auto ran = world.run(line);
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(has(read_file(world.bundle() + "/restore_lock.json"), {"\"org/new\""}));
  CHECK(exists(world.bundle() + "/env/qwen_env/pyvenv.cfg"));
}

TEST_CASE("a root that may lie inside the bundle does when nobody gives a place") {
  World world;
  world.commit([](SmallRelease& release) { release.manifest["roots"][0]["inside_bundle"] = true; });
  const auto ran =
      world.run({"restore", "org/release", "--release", "releases/r1", "--bundle", world.bundle()});
  INFO(ran);
  REQUIRE(ran.code == 0);
  CHECK(tree_of(world.bundle() + "/runtime") == SmallRelease::runtime_tree());
  world.hub.clear_log();
  world.forbid_writes();
  CHECK(world.restore_again().code == 0);
  CHECK(world.requests() == 0);
}

TEST_CASE("a root given elsewhere later is filled there, from the cache") {
  World world;
  REQUIRE(world.restore().code == 0);
  world.hub.clear_log();
  const auto ran = world.restore_again({"--runtime-root", world.dir / "other"});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(tree_of(world.dir / "other") == SmallRelease::runtime_tree());
  CHECK(tree_of(world.runtime()) == SmallRelease::runtime_tree());  // the old one is not ours to delete
  CHECK(world.bytes_from_cdn() == 0);
}

}  // namespace decant::test
