// SPDX-License-Identifier: Apache-2.0
// Whatever system call fails, the caller gets the reason, soon, and nobody is left waiting.
#include <cerrno>
#include <string>

#include "decant/fs/sys.hpp"
#include "part_bench.hpp"
#include "support/archive_builder.hpp"
#include "support/catch.hpp"
#include "support/no_threads.hpp"

namespace decant {
namespace {

using test::PartBench;
using test::TarBuilder;

std::string sample() {
  TarBuilder tar;
  tar.dir("d").file("d/a", test::random_bytes(1, 700'000)).file("d/b", "b", 0755).file("deep/er/c", "c");
  tar.hardlink("h", "d/b").symlink("l", "d");
  for (int i = 0; i < 6; ++i) tar.file("m/" + std::to_string(i), test::random_bytes(7, 90'000));
  return tar.closed();
}

TEST_CASE("a full disk at any call is an error of kind disk") {
  const auto zst = test::zstd_frame(sample());
  for (unsigned long k = 1;; ++k) {
    CAPTURE(k);
    PartBench bench;
    bench.budget_bytes = 192 * k_kib;  // so that the reader waits for the lanes
    const fs::sys::ScopedHook hook{
        [&](std::string_view, unsigned long number) { return number == k ? ENOSPC : 0; }};
    try {
      bench.run_zst(zst);
      REQUIRE(k > 20);
      CHECK(hook.calls() < k);
      break;
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::disk);
    }
  }
}

TEST_CASE("when every write fails the first reason is told") {
  PartBench bench;
  bench.options.lanes = 3;
  bench.budget_bytes = 128 * k_kib;
  const fs::sys::ScopedHook hook{
      [](std::string_view call, unsigned long) { return call == "write" ? EIO : 0; }};
  CHECK_THROWS_AS(bench.run_tar(sample()), Error);
}

TEST_CASE("a refusal in the middle of a file ends the lanes") {
  PartBench bench;
  auto tar = TarBuilder{}.file("a", test::random_bytes(1, 2'000'000)).file("../x", "y").closed();
  CHECK_THAT(bench.refusal_of(tar), Catch::Contains("(rule S1)"));
}

TEST_CASE("a stop request ends it") {
  PartBench bench;
  bench.stop.request(2);
  CHECK_THROWS_AS(bench.run_tar(sample()), Interrupted);
}

TEST_CASE("no thread at all is an error that says what to do") {
  PartBench bench;
  const test::NoThreads refused;
  try {
    bench.run_tar(sample());
    FAIL("unpacked without a lane");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::disk);
    CHECK_THAT(error.what(), Catch::Contains("ulimit -u") && Catch::Contains("--jobs 1"));
  }
}

TEST_CASE("a staging directory that is in use is never written into") {
  PartBench bench;
  test::write_file(bench.stage() + "/left", "x");
  CHECK_THROWS_AS(bench.run_tar(sample()), Error);
}

}  // namespace
}  // namespace decant
