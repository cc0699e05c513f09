// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "part_bench.hpp"
#include "support/archive_builder.hpp"
#include "support/catch.hpp"

namespace decant {
namespace {

using test::index_lines;
using test::PartBench;
using test::TarBuilder;
using unpack::Landed;

struct stat lstat_of(const std::string& path) {
  struct stat st {};
  REQUIRE(::lstat(path.c_str(), &st) == 0);
  return st;
}

TEST_CASE("an archive becomes a tree, an index and stamps") {
  PartBench bench;
  const auto before = test::snapshot(bench.outside());
  const auto big = test::random_bytes(1, 5'000'000);
  TarBuilder tar;
  tar.dir("./").dir("d").file("d/run", "#!\n", 0755).file("d/big", big).file("implied/deep/e", "");
  tar.symlink("d/l", "../implied").hardlink("h", "d/run");
  const auto result = bench.run_tar(tar.closed());

  const auto lines = index_lines(result);
  REQUIRE(result.index.entries.size() == 6);
  CHECK(result.index.entries[0].path.str() == "d");
  CHECK(lines.at("d") == "dir staged");
  CHECK(lines.at("d/run") == "file staged 3 " + hash::sha256("#!\n").short_hex() + " x");
  CHECK(lines.at("d/big") == "file staged 5000000 " + hash::sha256(big).short_hex());
  CHECK(lines.at("d/l") == "link staged -> ../implied");
  CHECK(lines.at("h") == "file staged 3 " + hash::sha256("#!\n").short_hex() + " x = d/run");
  CHECK(result.summary.entries == 7);
  CHECK(result.bytes_written == big.size() + 3);
  CHECK(bench.counters->entries_done == 7);
  CHECK(bench.counters->bytes_unpacked == big.size() + 3);

  CHECK(test::read_file(bench.stage() + "/d/big") == big);
  const auto run = lstat_of(bench.stage() + "/d/run");
  CHECK((run.st_mode & 07777) == 0755);
  CHECK(run.st_mtim.tv_sec == 1'700'000'000);
  CHECK(run.st_mtim.tv_nsec == 0);
  CHECK(run.st_nlink == 2);
  CHECK((lstat_of(bench.stage() + "/d/big").st_mode & 07777) == 0644);
  CHECK(lstat_of(bench.stage() + "/d").st_mtim.tv_sec == 1'700'000'000);
  for (std::size_t i = 0; i < result.states.size(); ++i) {
    const auto st = lstat_of(bench.stage() + '/' + result.index.entries[i].path.str());
    CHECK(result.states[i].stamp.ino == st.st_ino);
    CHECK(result.states[i].stamp.dev == st.st_dev);
    CHECK(result.states[i].stamp.mtime_sec == st.st_mtim.tv_sec);
  }
  CHECK(test::snapshot(bench.outside()) == before);
  CHECK(test::snapshot(bench.root()).empty());
}

TEST_CASE("a part unpacks below its own directory") {
  PartBench bench;
  bench.part.under = *fs::RelPath::parse("media/v1");
  const auto result =
      bench.run_tar(TarBuilder{}.file("a/b", "x").symlink("l", "../other").hardlink("h", "a/b").closed());
  CHECK(result.index.entries[0].path.str() == "a/b");
  CHECK(test::read_file(bench.stage() + "/media/v1/a/b") == "x");
  CHECK(test::exists(bench.stage() + "/media/v1/l"));
  CHECK(test::read_file(bench.stage() + "/media/v1/h") == "x");
}

TEST_CASE("unwanted entries are hashed and not written") {
  PartBench bench;
  bench.options.wants = [](const fs::RelPath& path) { return path.first() == "keep"; };
  TarBuilder tar;
  tar.dir("drop")
      .file("drop/a", "aa")
      .symlink("drop/l", "a")
      .dir("keep")
      .file("keep/b", "bb")
      .hardlink("drop/h", "keep/b");
  const auto result = bench.run_tar(tar.closed());
  const auto lines = index_lines(result);
  CHECK(lines.at("drop/a") == "file skipped 2 " + hash::sha256("aa").short_hex());
  CHECK(lines.at("drop/h") == "file skipped 2 " + hash::sha256("bb").short_hex() + " = keep/b");
  CHECK(lines.at("keep/b") == "file staged 2 " + hash::sha256("bb").short_hex());
  CHECK_FALSE(test::exists(bench.stage() + "/drop"));
  CHECK(result.bytes_written == 2);
}

TEST_CASE("a wanted hard link to an unwanted file is the user's to settle") {
  PartBench bench;
  bench.options.wants = [](const fs::RelPath& path) { return path.str() == "h"; };
  try {
    bench.run_tar(TarBuilder{}.file("a", "x").hardlink("h", "a").closed());
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK_THAT(error.what(), Catch::Contains("'h' is a hard link to 'a'"));
  }
}

TEST_CASE("directories may repeat, and the last time counts") {
  PartBench bench;
  TarBuilder tar;
  tar.dir("d")
      .file("d/a", "x")
      .header({.name = "d/", .type = '5', .mode = 0755, .mtime = 1'600'000'000})
      .dir("e");
  const auto result = bench.run_tar(tar.closed());
  REQUIRE(result.index.entries.size() == 3);
  CHECK(result.index.entries[0].mtime == 1'600'000'000);
  CHECK(result.index.entries[2].path.str() == "e");
  CHECK(result.states[2].stamp.ino == lstat_of(bench.stage() + "/e").st_ino);
  CHECK(lstat_of(bench.stage() + "/d").st_mtim.tv_sec == 1'600'000'000);
}

TEST_CASE("identical duplicates pass when the part accepts them") {
  PartBench bench;
  bench.part.accept = {model::Accept::dup_identical};
  bench.options.lanes = 3;
  TarBuilder tar;
  for (int i = 0; i < 50; ++i) tar.file("f" + std::to_string(i), "same" + std::to_string(i));
  for (int i = 0; i < 50; ++i) tar.file("f" + std::to_string(i), "same" + std::to_string(i));
  CHECK(bench.run_tar(tar.closed()).index.entries.size() == 50);
  CHECK_THAT(bench.refusal_of(TarBuilder{}.file("a", "1").file("a", "2").closed()),
             Catch::Contains("(rule S4)"));
  CHECK_THAT(bench.refusal_of(TarBuilder{}.file("a", "1").file("a", "1", 0755).closed()),
             Catch::Contains("(rule S4)"));
}

TEST_CASE("totals that the manifest states must hold") {
  PartBench bench;
  bench.part.entries = 3;
  CHECK_THAT(bench.refusal_of(TarBuilder{}.file("a", "1").closed()), Catch::Contains("(rule S9)"));
  bench.part.entries = 1;
  bench.part.bytes = 2;
  CHECK_THAT(bench.refusal_of(TarBuilder{}.file("a", "1").closed()), Catch::Contains("(rule S9)"));
  bench.part.bytes = 1;
  CHECK(bench.refusal_of(TarBuilder{}.file("a", "1").closed()).empty());
}

TEST_CASE("many files over many lanes come out right with little memory") {
  PartBench bench;
  bench.options.lanes = 4;
  bench.budget_bytes = 256 * k_kib;
  bench.root_is_there = false;
  TarBuilder tar;
  for (std::size_t i = 0; i < 500; ++i) {
    tar.file("d" + std::to_string(i % 17) + "/f" + std::to_string(i), test::random_bytes(i, i * 97 % 20'000));
  }
  const auto result = bench.run_zst(test::zstd_frames(tar.closed(), 300'000));
  REQUIRE(result.index.entries.size() == 500);
  for (std::size_t i = 0; i < 500; ++i) {
    const auto expected = test::random_bytes(i, i * 97 % 20'000);
    CHECK(result.index.entries[i].sha256 == hash::sha256(expected));
    CHECK(test::read_file(bench.stage() + '/' + result.index.entries[i].path.str()) == expected);
  }
}

TEST_CASE("a loose file is finished by a rename") {
  PartBench bench;
  test::write_file(bench.scratch("landed"), "content");
  const auto from = fs::DirHandle::open(bench.scratch(""), fs::Missing::is_error);
  const auto stage = fs::DirHandle::open(bench.stage(), fs::Missing::is_error);
  const auto installed = *fs::RelPath::parse("docs/NOTES.md");
  const auto stamp = unpack::stage_file(from, *fs::RelPath::parse("landed"), stage, installed);
  const auto st = lstat_of(bench.stage() + "/docs/NOTES.md");
  CHECK(stamp.ino == st.st_ino);
  CHECK((st.st_mode & 07777) == 0644);
  CHECK_FALSE(test::exists(bench.scratch("landed")));

  test::write_file(bench.scratch("second"), "other");
  CHECK_THROWS_AS(unpack::stage_file(from, *fs::RelPath::parse("second"), stage, installed), Error);
  CHECK(test::read_file(bench.stage() + "/docs/NOTES.md") == "content");
}

}  // namespace
}  // namespace decant
