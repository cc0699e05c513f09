// SPDX-License-Identifier: Apache-2.0
// Archives that are right: what comes out of them.
#include <clocale>
#include <string>

#include "entry_rules.hpp"
#include "pax.hpp"
#include "recorder.hpp"
#include "support/archive_builder.hpp"
#include "support/catch.hpp"

namespace decant {
namespace {

using archive::EntryKind;
using test::base256;
using test::HeaderSpec;
using test::read_tar_bytes;
using test::TarBuilder;

TEST_CASE("every kind of entry is told in order") {
  TarBuilder tar;
  tar.dir("./").dir("./d/").file("./d/run", "#!\n", 0755).file("d/empty", "").symlink("d/l", "run");
  tar.hardlink("d/h", "./d/run");
  const auto reading = read_tar_bytes(tar.closed());
  REQUIRE(reading.entries.size() == 6);
  CHECK(reading.entries[0].entry.path.is_root());
  CHECK(reading.entries[1].entry.path.str() == "d");
  CHECK(reading.entries[1].entry.kind == EntryKind::dir);
  CHECK(reading.entries[2].entry.path.str() == "d/run");
  CHECK(reading.entries[2].entry.owner_executable);
  CHECK(reading.entries[2].content == "#!\n");
  CHECK(reading.entries[2].entry.mtime == 1'700'000'000);
  CHECK_FALSE(reading.entries[3].entry.owner_executable);
  CHECK(reading.entries[4].entry.kind == EntryKind::symlink);
  CHECK(reading.entries[4].entry.link_target == "run");
  CHECK(reading.entries[5].entry.kind == EntryKind::hardlink);
  CHECK(reading.entries[5].entry.hardlink_target.str() == "d/run");
  for (const auto& entry : reading.entries) CHECK(entry.ended);
  CHECK(reading.summary.entries == 6);
  CHECK(reading.summary.bytes == 3);
  CHECK(reading.summary.tar_bytes == tar.closed().size());
}

TEST_CASE("names come from PAX records, GNU long names or the ustar prefix") {
  const std::string deep(90, 'p');
  const std::string long_name = "long/" + std::string(200, 'n');
  TarBuilder tar;
  tar.pax({{"path", "pax/\xc3\xa9"}, {"mtime", "1600000000.75"}}).file("short", "a");
  tar.gnu_long('L', long_name).header({.name = long_name.substr(0, 100), .magic = test::k_magic_gnu});
  tar.header({.name = "in-prefix", .prefix = deep});
  tar.gnu_long('K', "t/" + std::string(150, 't'));
  tar.header({.name = "link", .type = '2', .link = "t/", .magic = test::k_magic_gnu});
  tar.header({.name = "old", .type = '\0', .magic = test::k_magic_v7});
  tar.header({.name = "olddir/", .type = '\0', .magic = test::k_magic_v7});
  const auto entries = read_tar_bytes(tar.closed()).entries;
  REQUIRE(entries.size() == 6);
  CHECK(entries[0].entry.path.str() == "pax/\xc3\xa9");
  CHECK(entries[0].entry.mtime == 1'600'000'000);
  CHECK(entries[0].entry.tar_offset == 0);
  CHECK(entries[1].entry.path.str() == long_name);
  CHECK(entries[1].entry.tar_offset == 4 * 512);
  CHECK(entries[2].entry.path.str() == deep + "/in-prefix");
  CHECK(entries[3].entry.link_target == "t/" + std::string(150, 't'));
  CHECK(entries[4].entry.kind == EntryKind::file);
  CHECK(entries[5].entry.kind == EntryKind::dir);
}

TEST_CASE("sizes may stand in any of the forms that tools write") {
  const std::string content = "0123456789";
  SECTION("base-256") {
    const auto tar = TarBuilder{}.header({.name = "f", .size_field = base256(10)}).data(content).closed();
    CHECK(read_tar_bytes(tar).entries.at(0).content == content);
  }
  SECTION("twelve octal digits") {
    const auto tar = TarBuilder{}.header({.name = "f", .size_field = "000000000012"}).data(content).closed();
    CHECK(read_tar_bytes(tar).entries.at(0).content == content);
  }
  SECTION("leading spaces") {
    const auto tar = TarBuilder{}.header({.name = "f", .size_field = "         12 "}).data(content).closed();
    CHECK(read_tar_bytes(tar).entries.at(0).content == content);
  }
  SECTION("PAX and header alike") {
    const auto tar = TarBuilder{}.pax({{"size", "10"}}).file("f", content).closed();
    CHECK(read_tar_bytes(tar).entries.at(0).content == content);
  }
}

TEST_CASE("the commit comment of git archive is passed over") {
  const auto tar = TarBuilder{}.pax({{"comment", std::string(40, 'a')}}, 'g').file("f", "x").closed();
  const auto entries = read_tar_bytes(tar).entries;
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].entry.number == 1);
  CHECK(entries[0].entry.tar_offset == 0);
}

TEST_CASE("bits that are dropped, attributes that are ignored and external links are counted") {
  TarBuilder tar;
  tar.dir("d", 02775).dir("e", 01777).file("sticky", "", 01644).symlink("l", "/usr/bin/python3");
  tar.pax(
      {{"SCHILY.xattr.security.capability", std::string("\0\1\2", 3)}, {"SCHILY.acl.access", "user::rw-"}});
  tar.file("f", "x").file("suid", "y", 04755);
  const auto summary =
      read_tar_bytes(tar.closed(), {.allow_external_links = true, .allow_setid_files = true}).summary;
  CHECK(summary.cleared_bits == 4);
  CHECK(summary.ignored_xattrs == 2);
  CHECK(summary.external_links == 1);
}

TEST_CASE("names come out byte for byte in every locale") {
  const std::string nfd = "e\xcc\x81";
  const std::string nfc = "\xc3\xa9";
  TarBuilder tar;
  tar.pax({{"path", nfd}}).file("a", "1").pax({{"path", nfc}}).file("b", "2");
  tar.pax({{"uname", nfc}, {"gname", nfc}}).file("c", "3").pax({{"linkpath", nfd}}).symlink("d", "x");
  const std::string before = std::setlocale(LC_CTYPE, nullptr);
  for (const char* locale : {"C", "C.UTF-8", "en_US.ISO-8859-1"}) {
    if (std::setlocale(LC_CTYPE, locale) == nullptr) continue;
    INFO(locale);
    const auto entries = read_tar_bytes(tar.closed()).entries;
    REQUIRE(entries.size() == 4);
    CHECK(entries[0].entry.path.str() == nfd);
    CHECK(entries[1].entry.path.str() == nfc);
    CHECK(entries[3].entry.link_target == nfd);
  }
  std::setlocale(LC_CTYPE, before.c_str());
}

TEST_CASE("names that are not UTF-8 pass when the part accepts them") {
  const std::string latin = "caf\xe9";
  TarBuilder tar;
  tar.file(latin, "1").pax({{"hdrcharset", "BINARY"}, {"path", latin + "2"}}).file("b", "2");
  tar.pax({{"path", latin + "3"}}).file("c", "3");
  const auto entries = read_tar_bytes(tar.closed(), {.allow_non_utf8 = true}).entries;
  REQUIRE(entries.size() == 3);
  CHECK(entries[0].entry.path.str() == latin);
  CHECK(entries[1].entry.path.str() == latin + "2");
  CHECK(entries[2].entry.path.str() == latin + "3");
}

TEST_CASE("zeros after the end are fine") {
  const auto tar = TarBuilder{}.file("f", "x").closed() + std::string(10'240, '\0');
  CHECK(read_tar_bytes(tar).entries.size() == 1);
}

TEST_CASE("an empty archive is fine only when the manifest says so") {
  CHECK(read_tar_bytes(TarBuilder{}.closed(), {.max_entries = 0}).entries.empty());
}

TEST_CASE("PAX times are rounded down") {
  struct Row {
    const char* text;
    std::optional<std::int64_t> expected;
  };
  const Row rows[] = {{"0", 0},
                      {"12.999", 12},
                      {"-1", -1},
                      {"-1.5", -2},
                      {"-0.1", -1},
                      {"-3.000", -3},
                      {"1700000000.", 1700000000},
                      {"", std::nullopt},
                      {"-", std::nullopt},
                      {"1e5", std::nullopt},
                      {".5", std::nullopt},
                      {"9999999999999999999", std::nullopt}};
  for (const auto& row : rows) {
    INFO(row.text);
    CHECK(archive::parse_pax_time(row.text) == row.expected);
  }
}

TEST_CASE("times before 1970 and base-256 times are read") {
  const std::string before(12, '\xff');
  const auto tar = TarBuilder{}
                       .header({.name = "a", .mtime_field = before})
                       .header({.name = "b", .mtime_field = base256(1ULL << 34)})
                       .closed();
  const auto entries = read_tar_bytes(tar).entries;
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].entry.mtime == -1);
  CHECK(entries[1].entry.mtime == std::int64_t{1} << 34);
}

TEST_CASE("where a symbolic link may lead") {
  struct Row {
    const char* link;
    const char* target;
    bool inside;
  };
  const Row rows[] = {
      {"l", "x", true},        {"l", "./x//y/", true},    {"a/b/l", "../../x", true},
      {"a/l", "..", true},     {"a/l", "../../x", false}, {"l", "..", false},
      {"l", "/etc", false},    {"a/l", "b/../c", false},  {"l", "a/../../x", false},
      {"a/b/l", "../c", true},
  };
  for (const auto& row : rows) {
    INFO(row.link << " -> " << row.target);
    CHECK(archive::stays_inside(*fs::RelPath::parse(row.link), row.target) == row.inside);
  }
}

TEST_CASE("links are judged from where the part unpacks") {
  const auto tar = TarBuilder{}.symlink("l", "../other").closed();
  CHECK(read_tar_bytes(tar, {.under = *fs::RelPath::parse("media")}).entries.size() == 1);
  CHECK_THAT(test::refusal_of_tar(tar), Catch::Contains("(rule S3)"));
}

}  // namespace
}  // namespace decant
