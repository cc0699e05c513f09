// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "state_support.hpp"

using namespace decant;
using namespace decant::state;
using namespace decant::state::test;

namespace {

// A bundle with one root beside it.
struct Places {
  TempDir dir;
  Bundle bundle = Bundle::open(dir / "bundle", fs::Missing::create);
  fs::DirHandle runtime = fs::DirHandle::open(dir / "runtime", fs::Missing::create);
};

mode_t mode_of(const std::string& path) {
  struct stat st {};
  REQUIRE(::lstat(path.c_str(), &st) == 0);
  return st.st_mode & 07777;
}

}  // namespace

TEST_CASE("a staging directory is private and found again") {
  Places at;
  std::string name;
  CHECK_FALSE(at.bundle.find_staging("runtime", at.runtime, lock_of('1'), &name));
  at.bundle.open_staging("runtime", at.runtime, lock_of('1'), &name);
  CHECK(name.starts_with(".decant-staging-111111111111-"));
  CHECK(mode_of(at.dir / ("runtime/" + name)) == 0700);
  write_file(at.dir / ("runtime/" + name + "/part/tree/x"), "x");

  std::string again;
  CHECK(at.bundle.open_staging("runtime", at.runtime, lock_of('1'), &again).list() ==
        std::vector<std::string>{".decant-marker", "part"});
  CHECK(again == name);
  CHECK(at.bundle.find_staging("runtime", at.runtime, lock_of('1'), &again));
  CHECK_FALSE(at.bundle.find_staging("runtime", at.runtime, lock_of('2'), &again));
  CHECK_FALSE(at.bundle.find_staging("bundle", at.runtime, lock_of('1'), &again));

  at.bundle.remove_staging("runtime", at.runtime, lock_of('1'));
  CHECK(snapshot(at.dir / "runtime").empty());
  CHECK(snapshot(at.dir / "bundle/.decant").empty());
  at.bundle.remove_staging("runtime", at.runtime, lock_of('1'));
}

TEST_CASE("the bundle's staging directory lies in .decant") {
  Places at;
  std::string name;
  at.bundle.open_staging("bundle", at.bundle.dir(), lock_of('1'), &name);
  CHECK(name.starts_with(".decant/staging-111111111111-"));
  CHECK(mode_of(at.dir / ("bundle/" + name)) == 0700);
  at.bundle.remove_staging("bundle", at.bundle.dir(), lock_of('1'));
  CHECK(snapshot(at.dir / "bundle/.decant").empty());
}

TEST_CASE("another lock has a staging directory of its own, and neither removes the other") {
  Places at;
  std::string one;
  std::string two;
  at.bundle.open_staging("runtime", at.runtime, lock_of('1'), &one);
  at.bundle.open_staging("runtime", at.runtime, lock_of('2'), &two);
  CHECK(one != two);
  at.bundle.remove_staging("runtime", at.runtime, lock_of('2'));
  CHECK(exists(at.dir / ("runtime/" + one)));
  CHECK_FALSE(exists(at.dir / ("runtime/" + two)));
}

TEST_CASE("a directory that is not ours beyond doubt is neither used nor removed") {
  Places at;
  std::string name;
  at.bundle.open_staging("runtime", at.runtime, lock_of('1'), &name);
  const std::string path = at.dir / ("runtime/" + name);
  write_file(path + "/mine", "x");
  SECTION("another marker") {
    write_file(path + "/.decant-marker", "decant.staging/1 " + lock_of('2').hex() + "\n");
  }
  SECTION("no marker") {
    ::unlink((path + "/.decant-marker").c_str());
  }
  SECTION("open to others") {
    ::chmod(path.c_str(), 0755);
  }
  SECTION("a link to it") {
    std::filesystem::rename(path, at.dir / "runtime/moved");
    REQUIRE(::symlink("moved", path.c_str()) == 0);
  }
  SECTION("a file") {
    std::filesystem::rename(path, at.dir / "runtime/moved");
    write_file(path, "x");
  }
  SECTION("another owner") {
    if (::geteuid() != 0) return;
    REQUIRE(::lchown(path.c_str(), 12345, 12345) == 0);
  }
  const auto before = snapshot(at.dir / "runtime");
  CHECK_FALSE(at.bundle.find_staging("runtime", at.runtime, lock_of('1'), nullptr));
  at.bundle.remove_staging("runtime", at.runtime, lock_of('1'));
  CHECK(snapshot(at.dir / "runtime") == before);
  std::string fresh;
  at.bundle.open_staging("runtime", at.runtime, lock_of('1'), &fresh);
  CHECK(fresh != name);
}

TEST_CASE("a record of staging directories cannot lead elsewhere") {
  Places at;
  ::mkdir((at.dir / "runtime/precious").c_str(), 0700);
  std::string text =
      R"({"schema":"decant.staging/1","staging":[{"root":"runtime","name":"precious","lock":")" +
      lock_of('1').hex() + R"("}],"digest":""})" + "\n";
  text.insert(text.size() - 3, hash::sha256(text).hex());
  write_file(at.dir / "bundle/.decant/staging.json", text);
  at.bundle.remove_staging("runtime", at.runtime, lock_of('1'));
  CHECK(exists(at.dir / "runtime/precious"));
}
