// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <filesystem>

#include "bad_input.hpp"
#include "decant/fs/sys.hpp"
#include "program.hpp"

// The bad inputs of a machine: places, flags, locks, disks.
namespace decant::test {
namespace {

using Json = nlohmann::ordered_json;

// A world whose bundle holds the first commit, with a second commit as main.
void restore_first(World& world) {
  world.forbid_writes(false);
  REQUIRE(world.restore().code == 0);
  world.commit([](SmallRelease& release) { release.set_bytes("notes", "Other notes.\n"); });
  world.forbid_writes();
}

}  // namespace

TEST_CASE("a command line that lacks or mixes things is refused before any request") {
  check_cases({
      {"no --bundle",
       [](World& world) {
         auto ran = world.run(world.release_args("restore"));
         CHECK(world.requests() == 0);
         return ran;
       },
       2,
       {"no --bundle is given", "--bundle DIR"}},
      {"no SOURCE and no lock",
       [](World& world) {
         return world.run({"restore", "--bundle", world.bundle()});
       },
       2,
       {"no SOURCE", "ORG/NAME"}},
      {"an unknown flag",
       [](World& world) { return world.restore({"--turbo"}); },
       2,
       {"--turbo", "decant restore --help"}},
      {"an unknown command", [](World& world) { return world.run({"restor"}); }, 2, {"restor", "--help"}},
      {"no command", [](World& world) { return world.run({}); }, 2, {"--help"}},
      {"a flag without its value",
       [](World& world) {
         return world.run({"restore", "org/release", "--bundle"});
       },
       2,
       {"--bundle"}},
      {"a SOURCE that is none",
       [](World& world) {
         return world.run({"restore", "release", "--bundle", world.bundle()});
       },
       2,
       {"SOURCE 'release'", "ORG/NAME", "dir:PATH"}},
      {"a SOURCE of a web page",
       [](World& world) {
         return world.run({"restore", "https://huggingface.co/org/release", "--bundle", world.bundle()});
       },
       2,
       {"https://huggingface.co/org/release", "ORG/NAME"}},
      {"a directory that is not there",
       [](World& world) {
         return world.run({"restore", "dir:" + (world.dir / "nothing"), "--bundle", world.bundle()});
       },
       5,
       {"nothing"}},
      {"a revision of a directory",
       [](World& world) {
         return world.run({"restore", "dir:/tmp", "--revision", "main", "--bundle", world.bundle()});
       },
       2,
       {"a directory has no revisions"}},
      {"a word of --only that the release does not have",
       [](World& world) {
         return world.restore({"--only", "imagse"});
       },
       2,
       {"imagse", "media", "images_000"}},
      {"a --release that leaves the repo",
       [](World& world) {
         return world.run({"restore", "org/release", "--release", "../r1", "--bundle", world.bundle()});
       },
       2,
       {"--release", "../r1"}},
      {"--memory of a word",
       [](World& world) {
         return world.restore({"--memory", "lots"});
       },
       2,
       {"lots"}},
      {"--stall-timeout of a word",
       [](World& world) {
         return world.restore({"--stall-timeout", "soon"});
       },
       2,
       {"soon", "30s"}},
      {"--connections out of range",
       [](World& world) {
         return world.restore({"--connections", "0"});
       },
       2,
       {"--connections"}},
      {"--limit-rate of a word",
       [](World& world) {
         return world.restore({"--limit-rate", "slow"});
       },
       2,
       {"--limit-rate", "slow", "500M"}},
      {"--limit-rate of next to nothing",
       [](World& world) {
         return world.fetch({"--limit-rate", "1000"});
       },
       2,
       {"--limit-rate", "1000", "1K"}},
      {"--jobs out of range",
       [](World& world) {
         return world.restore({"--jobs", "0"});
       },
       2,
       {"--jobs"}},
      {"--jobs out of range in the environment",
       [](World& world) {
         world.env["DECANT_JOBS"] = "0";
         return world.restore();
       },
       2,
       {"DECANT_JOBS"}},
      {"--jobs of fetch",
       [](World& world) {
         return world.fetch({"--jobs", "2"});
       },
       2,
       {"--jobs"}},
      {"an empty --only",
       [](World& world) {
         return world.restore({"--only", ""});
       },
       2,
       {"--only", "the value is empty"}},
      {"an empty --bundle",
       [](World& world) {
         return world.run({"restore", "org/release", "--bundle", ""});
       },
       2,
       {"--bundle", "the value is empty"}},
      {"an empty --release",
       [](World& world) {
         return world.run({"restore", "org/release", "--release=", "--bundle", world.bundle()});
       },
       2,
       {"--release", "the value is empty"}},
      {"an option in place of a value",
       [](World& world) {
         return world.run({"restore", "--release", "--bundle", world.bundle()});
       },
       2,
       {"--release", "'--bundle' is no value"}},
      {"an empty SOURCE",
       [](World& world) {
         return world.run({"restore", "", "--bundle", world.bundle()});
       },
       2,
       {"SOURCE", "the value is empty"}},
      {"two words for one --only",
       [](World& world) {
         return world.restore({"--only", "media", "runtime"});
       },
       2,
       {"runtime"}},
      {"an address without a name",
       [](World& world) {
         return world.run({"restore", "hf://datasets/org", "--bundle", world.bundle()});
       },
       2,
       {"hf://datasets/org", "ORG/NAME"}},
      {"an address without a type is a model's",
       [](World& world) {
         return world.run(
             {"restore", "hf://org/release", "--repo-type", "dataset", "--bundle", world.bundle()});
       },
       2,
       {"SOURCE says model", "hf://datasets/"}},
      {"a bad value in the environment",
       [](World& world) {
         world.env["DECANT_CONNECTIONS"] = "many";
         return world.restore();
       },
       2,
       {"DECANT_CONNECTIONS", "many"}},
      {"--loose with --manifest",
       [](World& world) {
         return world.restore({"--loose", "--manifest", world.dir / "m.json"});
       },
       2,
       {"--loose and --manifest"}},
      {"a --manifest that is not there",
       [](World& world) {
         return world.restore({"--manifest", world.dir / "m.json"});
       },
       2,
       {"m.json", "cannot be opened"}},
      {"a --root that the release does not have",
       [](World& world) {
         return world.restore({"--root", "models=/tmp"});
       },
       2,
       {"models", "bundle, runtime"}},
      {"a --root without a directory",
       [](World& world) {
         return world.restore({"--root", "runtime"});
       },
       2,
       {"NAME=DIR"}},
      {"a root that nobody gave; what the release suggests is shown, not used",
       [](World& world) {
         auto args = world.release_args("restore");
         args.insert(args.end(), {"--bundle", world.bundle()});
         auto ran = world.run(args);
         CHECK(world.bytes_from_cdn() == 0);
         return ran;
       },
       2,
       {"root 'runtime'", "--runtime-root DIR", "/opt/suggested"}},
      {"fetch without a cache",
       [](World& world) { return world.run(world.release_args("fetch")); },
       2,
       {"--download-cache DIR"}},
      {"--quick with --hash-media",
       [](World& world) {
         return world.verify({"--quick", "--hash-media"});
       },
       2,
       {"--quick and --hash-media"}},
      {"verify of what is no bundle",
       [](World& world) { return world.verify(); },
       2,
       {"there is no such directory"}},
      {"status of a directory without lock",
       [](World& world) {
         return world.run({"status", "--bundle", world.model()});
       },
       2,
       {"it holds no restore_lock.json"}},
  });
}

TEST_CASE("a lock of something else is exit 10, with both values and the way out") {
  check_cases({
      {"another commit",
       [](World& world) {
         restore_first(world);
         return world.restore({"--revision", world.repo.commit()});
       },
       10,
       {"another commit", "expected:", "found:", "use another --bundle", ".decant"}},
      {"another branch",
       [](World& world) {
         restore_first(world);
         return world.restore({"--revision", "v2"});
       },
       10,
       {"another commit", "v2"}},
      {"another repo",
       [](World& world) {
         restore_first(world);
         return world.run({"restore", "org/other", "--bundle", world.bundle()});
       },
       10,
       {"another repo", "org/release", "org/other"}},
      {"another type of repo",
       [](World& world) {
         restore_first(world);
         return world.restore({"--repo-type", "model"});
       },
       10,
       {"repo type", "dataset", "model"}},
      {"another release",
       [](World& world) {
         restore_first(world);
         return world.run({"restore", "org/release", "--release", "releases/r2", "--bundle", world.bundle()});
       },
       10,
       {"another release", "releases/r1", "releases/r2"}},
      {"a directory in place of a repo",
       [](World& world) {
         restore_first(world);
         return world.run({"restore", "dir:/tmp", "--bundle", world.bundle()});
       },
       10,
       {"kind of source", "hub", "directory"}},
      {"a lock that was edited",
       [](World& world) {
         restore_first(world);
         auto text = read_file(world.bundle() + "/restore_lock.json");
         text.replace(text.find("releases/r1"), 11, "releases/r2");
         write_file(world.bundle() + "/restore_lock.json", text);
         return world.restore();
       },
       10,
       {"restore_lock.json"}},
      {"a lock that is no JSON, and verify",
       [](World& world) {
         restore_first(world);
         write_file(world.bundle() + "/restore_lock.json", "{");
         return world.verify();
       },
       10,
       {"restore_lock.json"}},
  });
}

TEST_CASE("a bundle or cache that cannot be written to is exit 6, told apart in words") {
  check_cases({
      {"the bundle is a file",
       [](World& world) {
         write_file(world.bundle(), "x");
         return world.restore();
       },
       7,
       {"bundle", "expected: a directory", "found:", "a file"}},
      {"the bundle is below a file",
       [](World& world) {
         write_file(world.dir / "file", "x");
         auto args = world.release_args("restore");
         args.insert(args.end(), {"--bundle", world.dir / "file/bundle", "--runtime-root", world.runtime()});
         return world.run(args);
       },
       6,
       {"file"}},
      {"the runtime root is a file",
       [](World& world) {
         write_file(world.runtime(), "x");
         return world.restore();
       },
       6,
       {"runtime", "not a directory"}},
      {"a release that does not fit",
       [](World& world) {
         world.commit([](SmallRelease& release) {
           release.part("data")["unpack"]["bytes"] = std::uint64_t{1} << 60U;
         });
         return world.restore();
       },
       6,
       {"free"}},
  });
}

TEST_CASE("an ordinary user who may not write gets exit 6 and the directory's name") {
  World world;
  std::filesystem::permissions(world.dir.path(), std::filesystem::perms{0755});
  const auto closed = world.dir / "closed";
  std::filesystem::create_directories(closed);
  ::chmod(closed.c_str(), 0555);
  auto args = world.release_args("restore");
  args.insert(args.end(), {"--bundle", closed + "/bundle", "--runtime-root", world.dir / "runtime"});
  const auto before = stamps_of(world.dir.path());
  const auto ran = run_as_ordinary_user(world, args);
  INFO(ran);
  CHECK(ran.code == 6);
  CHECK(has(ran.err, {"closed", "ermission", "next:"}));
  CHECK(world.bytes_from_cdn() <= 1);  // the probe for access
  CHECK(stamps_of(world.dir.path()) == before);

  args[0] = "plan";
  const auto planned = run_as_ordinary_user(world, args);
  INFO(planned);
  CHECK(planned.code == 6);
}

TEST_CASE("a disk that fills up while it is written to is exit 6, and the run goes on when there is room") {
  World world;
  for (const std::string call : {"write", "pwrite", "copy"}) {
    DYNAMIC_SECTION(call) {
      Ran full;
      {
        std::atomic<int> calls{0};
        const fs::sys::ScopedHook hook{[&](std::string_view name, unsigned long) {
          return name.starts_with(call) && ++calls > 4 ? ENOSPC : 0;
        }};
        full = world.restore();
        if (calls <= 4) return;  // not a call of this build
      }
      INFO(full);
      CHECK(full.code == 6);
      CHECK(has(full, {"space", "next:"}));
      CHECK(tree_of(world.bundle()).empty());
      const auto again = world.restore();
      INFO(again);
      CHECK(again.code == 0);
      CHECK(world.is_restored());
    }
  }
}

}  // namespace decant::test
