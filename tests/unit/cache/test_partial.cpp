// SPDX-License-Identifier: Apache-2.0
#include "decant/cache/partial.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "cache_support.hpp"
#include "decant/base/error.hpp"
#include "decant/fs/sys.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;
using cache::ChunkState;
using cache::k_chunk_bytes;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat st {};
  REQUIRE(::lstat(path.c_str(), &st) == 0);
  return st.st_mode & 07777;
}

}  // namespace

TEST_CASE("a partial whose chunks all landed becomes the file and leaves nothing else") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{k_chunk_bytes},
                                 std::size_t{k_chunk_bytes + 1}, std::size_t{3 * k_chunk_bytes}}) {
    CAPTURE(size);
    const TempDir dir;
    const std::string content = random_bytes(1, size);
    cache::Partial partial = claim(dir.path(), "f", content);
    CHECK(partial.size() == size);
    CHECK(partial.chunk_count() == (size + k_chunk_bytes - 1) / k_chunk_bytes);
    CHECK(partial.landed_bytes() == 0);
    land_missing(partial, content);
    CHECK(partial.landed_bytes() == size);
    REQUIRE(partial.finish(open_dir(dir.path()), rel("f"), 0444));
    CHECK(read_file(dir / "f") == content);
    CHECK(mode_of(dir / "f") == 0444);
    CHECK(open_dir(dir.path()).list() == std::vector<std::string>{"f"});
  }
}

TEST_CASE("the last chunk is as short as the file") {
  const TempDir dir;
  const std::string content = random_bytes(2, k_chunk_bytes + 3);
  const cache::Partial partial = claim(dir.path(), "f", content);
  CHECK(partial.chunk_range(0) == ByteRange{0, k_chunk_bytes});
  CHECK(partial.chunk_range(1) == ByteRange{k_chunk_bytes, 3});
  CHECK_THROWS_AS(partial.chunk_range(2), Error);
}

TEST_CASE("a taken name is left alone and the partial goes on") {
  const TempDir dir;
  const std::string content = random_bytes(3, 100);
  cache::Partial partial = claim(dir.path(), "f", content);
  land_missing(partial, content);
  write_file(dir / "f", "somebody else's");
  CHECK_FALSE(partial.finish(open_dir(dir.path()), rel("f"), 0444));
  CHECK(read_file(dir / "f") == "somebody else's");
  REQUIRE(partial.finish(open_dir(dir.path()), rel("g"), 0644));
  CHECK(read_file(dir / "g") == content);
  CHECK(mode_of(dir / "g") == 0644);
}

TEST_CASE("a partial that is not complete cannot become the file") {
  const TempDir dir;
  const std::string content = random_bytes(4, k_chunk_bytes + 1);
  cache::Partial partial = claim(dir.path(), "f", content);
  land(partial, content, 0);
  CHECK_THROWS_AS(partial.finish(open_dir(dir.path()), rel("f"), 0444), Error);
  CHECK_FALSE(exists(dir / "f"));
}

TEST_CASE("a chunk is confirmed by its bytes only") {
  const TempDir dir;
  const std::string content = random_bytes(5, 2 * k_chunk_bytes);
  cache::Partial partial = claim(dir.path(), "f", content);
  CHECK_FALSE(partial.confirm(0, as_bytes(chunk_of(content, partial, 0))));  // missing
  land(partial, content, 0);
  CHECK(partial.confirm(0, as_bytes(chunk_of(content, partial, 0))));
  CHECK_FALSE(partial.confirm(0, as_bytes(chunk_of(content, partial, 1))));
  CHECK(partial.chunk_state(0) == ChunkState::missing);
  CHECK(partial.landed_bytes() == 0);
}

TEST_CASE("dropped chunks are missing, now and later") {
  const TempDir dir;
  const std::string content = random_bytes(6, 3 * k_chunk_bytes);
  const bool all = GENERATE(false, true);
  std::string path;
  {
    cache::Partial partial = claim(dir.path(), "f", content);
    land_missing(partial, content);
    all ? partial.drop_all() : partial.drop(1);
    CHECK(partial.landed_bytes() == (all ? 0 : 2 * k_chunk_bytes));
    path = partial.path();
  }
  kill_owner(path);
  CHECK(claim(dir.path(), "f", content).landed_bytes() == (all ? 0 : 2 * k_chunk_bytes));
}

TEST_CASE("a full disk is an error of kind disk that names the file") {
  const TempDir dir;
  const std::string content = random_bytes(7, k_chunk_bytes);
  cache::Partial partial = claim(dir.path(), "f", content);
  const fs::sys::ScopedHook full{
      [](std::string_view call, unsigned long) { return call == "pwrite" ? ENOSPC : 0; }};
  try {
    partial.write_at(0, as_bytes(content));
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::disk);
    CHECK(std::string{error.what()}.find(partial.path()) != std::string::npos);
  }
  CHECK_THROWS_AS(partial.mark_landed(0, 0), Error);
  CHECK(partial.chunk_state(0) == ChunkState::missing);
}

TEST_CASE("when the disk refuses to make the partial, nothing stays behind") {
  const TempDir dir;
  for (const std::string_view refused : {"mkdirat", "write", "ftruncate", "pwrite", "open_create"}) {
    CAPTURE(refused);
    const fs::sys::ScopedHook full{
        [&](std::string_view call, unsigned long) { return call == refused ? ENOSPC : 0; }};
    CHECK_THROWS_AS(claim(dir.path(), "f", "content"), Error);
    CHECK(open_dir(dir.path()).list().empty());
  }
}

TEST_CASE("after a failed fsync nothing counts as landed") {
  const TempDir dir;
  const std::string content = random_bytes(8, k_chunk_bytes + 9);
  cache::Partial partial = claim(dir.path(), "f", content);
  land_missing(partial, content);
  {
    const fs::sys::ScopedHook broken{
        [](std::string_view call, unsigned long) { return call == "fsync" ? EIO : 0; }};
    CHECK_THROWS_AS(partial.finish(open_dir(dir.path()), rel("f"), 0444), Error);
  }
  CHECK_FALSE(exists(dir / "f"));
  CHECK(partial.landed_bytes() == 0);
  land_missing(partial, content);
  CHECK(partial.finish(open_dir(dir.path()), rel("f"), 0444));
  CHECK(read_file(dir / "f") == content);
}

TEST_CASE("a heartbeat moves the owner's time and nothing else") {
  const TempDir dir;
  cache::Partial partial = claim(dir.path(), "f", "content");
  const std::string owner = partial.path() + "/owner";
  const std::string before = read_file(owner);
  const struct timespec old[2] = {{1'000'000, 0}, {1'000'000, 0}};
  REQUIRE(::utimensat(AT_FDCWD, owner.c_str(), old, 0) == 0);
  partial.heartbeat();
  struct stat st {};
  REQUIRE(::lstat(owner.c_str(), &st) == 0);
  CHECK(st.st_mtim.tv_sec > 1'000'000);
  CHECK(read_file(owner) == before);
}
