// SPDX-License-Identifier: Apache-2.0
// What the destination holds already is compared instead of written, and never changed.
#include <sys/stat.h>

#include <string>

#include "part_bench.hpp"
#include "support/archive_builder.hpp"
#include "support/catch.hpp"

namespace decant {
namespace {

using test::index_lines;
using test::PartBench;
using test::TarBuilder;

TEST_CASE("identical files are adopted and nothing is written") {
  PartBench bench;
  const auto big = test::random_bytes(3, 3'000'000);
  test::write_file(bench.root() + "/d/a", big);
  test::write_file(bench.root() + "/d/empty", "");
  const auto before = test::snapshot(bench.root());
  const auto result = bench.run_tar(TarBuilder{}.dir("d").file("d/a", big).file("d/empty", "").closed());
  CHECK(index_lines(result).at("d/a") == "file adopted 3000000 " + hash::sha256(big).short_hex());
  CHECK(index_lines(result).at("d/empty") == "file adopted 0 " + hash::sha256("").short_hex());
  CHECK(result.bytes_written == 0);
  CHECK_FALSE(test::exists(bench.stage() + "/d/a"));
  CHECK(test::snapshot(bench.root()) == before);
}

TEST_CASE("a file that differs anywhere is staged whole") {
  const auto content = test::random_bytes(4, 3'000'000);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{300'000}, std::size_t{1'500'000}, content.size() - 1}) {
    INFO(at);
    PartBench bench;
    auto other = content;
    other[at] = static_cast<char>(other[at] ^ 1);
    test::write_file(bench.root() + "/a", other);
    const auto result = bench.run_tar(TarBuilder{}.file("a", content).closed());
    CHECK(index_lines(result).at("a") == "file staged 3000000 " + hash::sha256(content).short_hex());
    CHECK(test::read_file(bench.stage() + "/a") == content);
    CHECK(test::read_file(bench.root() + "/a") == other);
  }
}

TEST_CASE("another size, execute bit or type is staged for publish to judge") {
  PartBench bench;
  test::write_file(bench.root() + "/size", "longer");
  test::write_file(bench.root() + "/mode", "same");
  test::write_file(bench.outside() + "/target", "same");
  REQUIRE(::symlink((bench.outside() + "/target").c_str(), (bench.root() + "/link").c_str()) == 0);
  REQUIRE(::symlink(bench.outside().c_str(), (bench.root() + "/linkdir").c_str()) == 0);
  REQUIRE(::mkfifo((bench.root() + "/fifo").c_str(), 0644) == 0);
  REQUIRE(::mkdir((bench.root() + "/dir").c_str(), 0755) == 0);
  TarBuilder tar;
  tar.file("size", "same").file("mode", "same", 0755).file("link", "same").file("linkdir/target", "same");
  tar.file("fifo", "").file("dir", "");
  const auto result = bench.run_tar(tar.closed());
  for (const auto& state : result.states) CHECK(state.landed == unpack::Landed::staged);
}

TEST_CASE("hard links to an adopted file are adopted or copied") {
  PartBench bench;
  test::write_file(bench.root() + "/a", "content");
  test::write_file(bench.root() + "/same", "content");
  test::write_file(bench.root() + "/other", "CONTENT");
  TarBuilder tar;
  tar.file("a", "content").hardlink("same", "a").hardlink("other", "a").hardlink("new", "a");
  const auto result = bench.run_tar(tar.closed());
  const auto lines = index_lines(result);
  const auto facts = " 7 " + hash::sha256("content").short_hex();
  CHECK(lines.at("a") == "file adopted" + facts);
  CHECK(lines.at("same") == "file adopted" + facts + " = a");
  CHECK(lines.at("other") == "file staged" + facts + " = a");
  CHECK(lines.at("new") == "file staged" + facts + " = a");
  CHECK(test::read_file(bench.stage() + "/new") == "content");
  CHECK(result.bytes_written == 14);
}

TEST_CASE("adopted names are still checked for duplicates and parents") {
  PartBench bench;
  test::write_file(bench.root() + "/a", "1");
  test::write_file(bench.root() + "/b", "");
  CHECK_THAT(bench.refusal_of(TarBuilder{}.file("a", "1").file("a", "1").closed()),
             Catch::Contains("(rule S4)"));
  CHECK_THAT(bench.refusal_of(TarBuilder{}.file("b", "").file("b/c", "").closed()),
             Catch::Contains("(rule S5)"));
}

}  // namespace
}  // namespace decant
