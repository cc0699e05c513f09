// SPDX-License-Identifier: Apache-2.0
// A process that is stopped, or refused, at any of its changes to the disk: the next one ends with the same
// file.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "cache_support.hpp"
#include "decant/base/error.hpp"
#include "decant/cache/cache.hpp"
#include "decant/fs/sys.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;

namespace {

void bring(const std::string& cache_path, const std::string& content) {
  cache::Cache cache{cache_path};
  const hash::Digest digest = hash::sha256(content);
  if (cache.open_final(digest, content.size())) return;
  cache::Partial partial = cache.begin(digest, content.size(), Stop{});
  land_missing(partial, content);
  cache.finish(std::move(partial), digest);
}

void check_only_final(const std::string& cache_path, const std::string& content) {
  const std::string hex = hash::sha256(content).hex();
  const std::string directory = cache_path + "/sha256/" + hex.substr(0, 2);
  CHECK(open_dir(directory).list() == std::vector<std::string>{hex});
  CHECK(read_file(directory + "/" + hex) == content);
}

// A whole final or none, at any instant.
void check_no_half_final(const std::string& cache_path, const std::string& content) {
  const std::string hex = hash::sha256(content).hex();
  const std::string path = cache_path + "/sha256/" + hex.substr(0, 2) + "/" + hex;
  if (exists(path)) CHECK(read_file(path) == content);
}

}  // namespace

TEST_CASE("killed at any change to the disk, the next process ends with the same file") {
  const std::string content = random_bytes(1, cache::k_chunk_bytes + 10);
  const bool with_leftover = GENERATE(false, true);
  CAPTURE(with_leftover);
  bool finished = false;
  for (unsigned long k = 1; !finished; ++k) {
    CAPTURE(k);
    REQUIRE(k < 200);
    const TempDir dir;
    const std::string cache_path = dir / "cache";
    if (with_leftover) {
      const std::string hex = hash::sha256(content).hex();
      const std::string directory = cache_path + "/sha256/" + hex.substr(0, 2);
      fs::DirHandle::open(directory, fs::Missing::create);
      leave_behind(directory, hex, content, {0});
    }
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      const fs::sys::ScopedHook hook{[&](std::string_view, unsigned long number) {
        if (number == k) ::_exit(9);
        return 0;
      }};
      try {
        bring(cache_path, content);
      } catch (...) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    REQUIRE((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 9));
    finished = WEXITSTATUS(status) == 0;
    check_no_half_final(cache_path, content);
    bring(cache_path, content);
    if (exists(cache_path + "/sha256")) {
      // Killed right after the rename, the partial's directory may stay until somebody prunes; no data is in
      // it.
      const std::string hex = hash::sha256(content).hex();
      const std::string directory = cache_path + "/sha256/" + hex.substr(0, 2);
      CHECK(read_file(directory + "/" + hex) == content);
      for (const std::string& name : open_dir(directory).list()) {
        if (name != hex) CHECK_FALSE(exists(directory + "/" + name + "/bytes/data"));
      }
    }
  }
}

TEST_CASE("refused any change to the disk, the next try in the same process ends with the same file") {
  const std::string content = random_bytes(2, cache::k_chunk_bytes + 10);
  const int error = GENERATE(ENOSPC, EIO);
  bool finished = false;
  for (unsigned long k = 1; !finished; ++k) {
    CAPTURE(k, error);
    REQUIRE(k < 200);
    const TempDir dir;
    const std::string cache_path = dir / "cache";
    {
      const fs::sys::ScopedHook hook{
          [&](std::string_view, unsigned long number) { return number == k ? error : 0; }};
      try {
        bring(cache_path, content);
      } catch (const Error& refused) {
        CHECK(refused.kind() == ErrorKind::disk);
      }
      finished = hook.calls() < k;
    }
    check_no_half_final(cache_path, content);
    bring(cache_path, content);
    if (finished) check_only_final(cache_path, content);
  }
}
