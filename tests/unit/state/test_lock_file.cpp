// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include "state_support.hpp"

using namespace decant;
using namespace decant::state;
using namespace decant::state::test;

namespace {

ErrorKind kind_of_read(const TempDir& dir) {
  try {
    open_bundle(dir).read_lock();
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::bug;
}

}  // namespace

TEST_CASE("a bundle's lock is read back as it was written") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  CHECK_FALSE(bundle.read_lock());
  CHECK(snapshot(dir.path()).empty());  // reading makes nothing
  bundle.write_lock(sample_lock());
  CHECK(model::to_json(bundle.read_lock().value()) == model::to_json(sample_lock()));
  CHECK(leftovers(dir).empty());
}

TEST_CASE("writing the same lock again touches nothing") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  bundle.write_lock(sample_lock());
  const auto facts = bundle.dir().stat(rel("restore_lock.json")).value();
  bundle.write_lock(sample_lock());
  CHECK(fs::stamp_of(bundle.dir().stat(rel("restore_lock.json")).value()) == fs::stamp_of(facts));
}

TEST_CASE("a lock that is there but cannot be trusted is an error, not a missing lock") {
  TempDir dir;
  open_bundle(dir).write_lock(sample_lock());
  const std::string path = dir / "restore_lock.json";
  const std::string good = read_file(path);
  SECTION("cut") {
    write_file(path, good.substr(0, good.size() / 2));
  }
  SECTION("empty") {
    write_file(path, "");
  }
  SECTION("edited") {
    write_file(path, std::string{good}.replace(good.find("123"), 3, "124"));
  }
  SECTION("a symbolic link") {
    write_file(dir / "elsewhere", good);
    ::unlink(path.c_str());
    REQUIRE(::symlink("elsewhere", path.c_str()) == 0);
  }
  SECTION("a directory") {
    ::unlink(path.c_str());
    REQUIRE(::mkdir(path.c_str(), 0755) == 0);
  }
  SECTION("a pipe") {
    ::unlink(path.c_str());
    REQUIRE(::mkfifo(path.c_str(), 0644) == 0);
  }
  CHECK(kind_of_read(dir) == ErrorKind::state);
}

TEST_CASE("a bundle is a directory") {
  TempDir dir;
  write_file(dir / "file", "x");
  try {
    Bundle::open(dir / "file", fs::Missing::create);
    FAIL("a file was opened as a bundle");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::conflict);
  }
  CHECK_FALSE(Bundle::open_if_there(dir / "none"));
  CHECK_FALSE(exists(dir / "none"));
  Bundle::open(dir / "new/bundle", fs::Missing::create);
  CHECK(snapshot(dir / "new/bundle").empty());
}
