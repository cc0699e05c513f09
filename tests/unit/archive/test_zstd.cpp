// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "decant/base/bytes.hpp"
#include "recorder.hpp"
#include "support/archive_builder.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"
#include "zstd_frame.hpp"

namespace decant {
namespace {

using test::problem_of_zst;
using test::read_zst_bytes;
using test::skippable_frame;
using test::TarBuilder;
using test::zstd_frame;
using test::zstd_frames;

std::string sample_tar() {
  return TarBuilder{}
      .file("a", test::random_bytes(7, 300'000))
      .file("b", std::string(3'000'000, 'b'))
      .closed();
}

TEST_CASE("one frame, many frames and skippable ones give the same entries") {
  const auto tar = sample_tar();
  const auto good = read_zst_bytes(zstd_frame(tar));
  REQUIRE(good.entries.size() == 2);
  CHECK(good.entries[1].content == std::string(3'000'000, 'b'));
  const std::string variants[] = {
      zstd_frames(tar, 100'000),
      zstd_frame(tar, {.content_size = false}),
      zstd_frame(tar, {.window_log = 27, .content_size = false}),
      skippable_frame("seek table") + zstd_frame(tar.substr(0, 1000)) + skippable_frame("", 15) +
          zstd_frame(tar.substr(1000)) + skippable_frame(std::string(5000, 's')),
      zstd_frame("") + zstd_frame(tar) + zstd_frame(""),
  };
  for (const auto& variant : variants) {
    const auto reading = read_zst_bytes(variant);
    REQUIRE(reading.entries.size() == 2);
    for (std::size_t i = 0; i < 2; ++i)
      CHECK(test::describe(reading.entries[i]) == test::describe(good.entries[i]));
  }
}

TEST_CASE("compressed blocks may end anywhere") {
  const auto zst = skippable_frame("x") + zstd_frames(sample_tar(), 1'000'000);
  for (const std::size_t piece : {1U, 2U, 7U, 1000U}) {
    test::StringSource source{zst, piece};
    test::Recorder recorder;
    ByteBudget budget{k_mib};
    archive::read_archive(source, {}, recorder, budget, Stop{});
    CHECK(recorder.entries.size() == 2);
  }
}

TEST_CASE("a part cut anywhere is refused") {
  const auto zst = zstd_frames(TarBuilder{}.file("a", "hello").file("b", "world").closed(), 1000);
  for (std::size_t size = 0; size < zst.size(); ++size) {
    INFO(size);
    CHECK_FALSE(problem_of_zst(zst.substr(0, size)).thing.empty());
  }
  CHECK_THAT(problem_of_zst(zst.substr(0, zst.size() - 1)).thing, Catch::Contains("cut short"));
}

TEST_CASE("a wrong content checksum and flipped bits are refused") {
  auto zst = zstd_frame(sample_tar());
  zst.back() = static_cast<char>(zst.back() ^ 1);
  CHECK_THAT(problem_of_zst(zst).thing, Catch::StartsWith("zstd frame 1: damaged"));
}

TEST_CASE("what is not zstd is called by its name") {
  CHECK_THAT(problem_of_zst(std::string("\x1f\x8b\x08\0\0\0\0\0", 8)).found, Catch::Contains("gzip"));
  CHECK_THAT(problem_of_zst(TarBuilder{}.file("a", "x").closed()).found, Catch::Contains("plain tar"));
  CHECK_THAT(problem_of_zst("<!doctype html><html>").found, Catch::Contains("HTML"));
  CHECK_THAT(problem_of_zst("version https://git-lfs.github.com/spec/v1\n").found,
             Catch::Contains("git-lfs"));
  CHECK_THAT(problem_of_zst(std::string(600, '\0')).found, Catch::Contains("zeros"));
  CHECK_THAT(problem_of_zst("").thing, Catch::Contains("empty"));
  CHECK_THAT(problem_of_zst(skippable_frame("x")).thing, Catch::Contains("only skippable"));
  CHECK_THAT(problem_of_zst(zstd_frame(sample_tar()) + "garbage").thing,
             Catch::Contains("follow the last frame"));
}

TEST_CASE("a window above the limit is refused with the size it needs") {
  const auto tar = TarBuilder{}.file("a", "x").closed();
  const auto problem = problem_of_zst(zstd_frame(tar, {.window_log = 31, .content_size = false}));
  CHECK_THAT(problem.thing, Catch::Contains("needs a window of 2^31 bytes"));
  CHECK(problem.hint == "the release has to be repacked with a smaller window");
  CHECK(read_zst_bytes(zstd_frame(tar, {.window_log = 28, .content_size = false}), {.max_window_log = 28})
            .entries.size() == 1);
  CHECK_FALSE(
      problem_of_zst(zstd_frame(tar, {.window_log = 20, .content_size = false}), {.max_window_log = 19})
          .thing.empty());
}

TEST_CASE("a dictionary is refused") {
  // Magic, descriptor with a one-byte dictionary id, window byte, the id, an empty last block.
  const std::string zst{"\x28\xb5\x2f\xfd\x01\x00\x07\x01\x00\x00", 10};
  CHECK_THAT(problem_of_zst(zst).thing, Catch::Contains("dictionary"));
}

TEST_CASE("a content size that lies is refused") {
  auto zst = zstd_frame(TarBuilder{}.file("a", std::string(1000, 'a')).closed());
  const auto size = archive::frame_header_size(as_bytes(std::string_view{zst}.substr(0, 5)));
  REQUIRE(size > 6);
  zst[size - 1] = static_cast<char>(zst[size - 1] ^ 1);
  CHECK_FALSE(problem_of_zst(zst).thing.empty());
}

TEST_CASE("skippable frames are bounded") {
  auto huge = skippable_frame("");
  huge.replace(4, 4, "\xff\xff\xff\x7f");
  CHECK_THAT(problem_of_zst(huge + zstd_frame(sample_tar())).thing, Catch::Contains("skippable"));
}

TEST_CASE("a window larger than the budget still lets one reader finish") {
  test::StringSource source{zstd_frame(sample_tar(), {.window_log = 27, .content_size = false})};
  test::Recorder recorder;
  ByteBudget budget{2 * k_mib};
  archive::read_archive(source, {}, recorder, budget, Stop{});
  CHECK(recorder.entries.size() == 2);
  CHECK(budget.peak() <= budget.limit());
}

TEST_CASE("a stop request ends the reading") {
  test::StringSource source{zstd_frame(sample_tar())};
  test::Recorder recorder;
  ByteBudget budget{k_mib};
  Stop stop;
  stop.request(15);
  CHECK_THROWS_AS(archive::read_archive(source, {}, recorder, budget, stop), Interrupted);
}

}  // namespace
}  // namespace decant
