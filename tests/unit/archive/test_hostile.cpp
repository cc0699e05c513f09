// SPDX-License-Identifier: Apache-2.0
// Archives that must be refused whole, one row each, and the rule that refuses them.
#include <string>
#include <vector>

#include "decant/base/bytes.hpp"
#include "recorder.hpp"
#include "support/archive_builder.hpp"
#include "support/catch.hpp"

namespace decant {
namespace {

using archive::Rules;
using test::base256;
using test::refusal_of_tar;
using test::TarBuilder;

struct Row {
  std::string title;
  std::string rule;
  std::string tar;
  Rules rules = {};
};

std::string file_named(std::string_view name) {
  return TarBuilder{}.file(name, "x").closed();
}
std::string pax_named(const std::string& name) {
  return TarBuilder{}.pax({{"path", name}}).file("ok", "x").closed();
}
std::string of_type(char type) {
  return TarBuilder{}.header({.name = "t", .type = type}).closed();
}
std::string pax_raw(std::string_view body) {
  return TarBuilder{}.pax_body(body).file("f", "x").closed();
}

std::vector<Row> name_rows() {
  const std::string long_component(256, 'c');
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += "d/";
  std::string huge;
  for (int i = 0; i < 40; ++i) huge += std::string(200, 'h') + '/';
  return {
      {"parent", "S1", file_named("../pwn")},
      {"parent in the middle", "S1", file_named("d/../../pwn")},
      {"absolute", "S1", file_named("/abs/pwn")},
      {"absolute, two slashes", "S1", file_named("//abs")},
      {"parent after ./", "S1", file_named("./../pwn")},
      {"directory that ends in ..", "S1", TarBuilder{}.dir("d/..").closed()},
      {"directory ..", "S1", TarBuilder{}.dir("../").closed()},
      {"parent in a PAX path", "S1", pax_named("../pwn")},
      {"parent in a GNU long name", "S1", TarBuilder{}.gnu_long('L', "../pwn").file("ok", "x").closed()},
      {"parent in a ustar prefix", "S1", TarBuilder{}.header({.name = "pwn", .prefix = ".."}).closed()},
      {"NUL in a PAX path", "S1", pax_named(std::string("ok\0../../pwn", 12))},
      {"NUL in a GNU long name", "S1",
       TarBuilder{}.gnu_long('L', std::string_view{"ok\0x", 4}).file("f", "").closed()},
      {"empty name", "S1", file_named("")},
      {"file named .", "S1", file_named(".")},
      {"slash alone", "S1", TarBuilder{}.dir("/").closed()},
      {"double slash", "S1", file_named("a//b")},
      {"file with a trailing slash", "S1", file_named("a/")},
      {"dot inside", "S1", file_named("a/./b")},
      {"component of 256 bytes", "S1", pax_named(long_component)},
      {"65 levels", "S1", pax_named(deep + "x")},
      {"8 KiB path", "S1", pax_named(huge + "x")},
      {"GNU long name above the limit", "S1",
       TarBuilder{}.gnu_long('L', std::string(5000, 'a')).file("f", "").closed()},
      {"empty GNU long name", "S1", TarBuilder{}.gnu_long('L', "").file("f", "").closed()},
      {"our lock", "S1", file_named("restore_lock.json")},
      {"our state", "S1", file_named("./.decant/owner")},
      {"our staging, other case", "S1", file_named(".DECANT-staging-1/x")},
      {"deep only with the part's prefix",
       "S1",
       file_named(deep.substr(0, 126) + "x"),
       {.under = *fs::RelPath::parse("a/b/c")}},
  };
}

std::vector<Row> text_rows() {
  return {
      {"newline", "S2", file_named("a\nb")},
      {"escape sequence", "S2", file_named("a\x1b[2Jb")},
      {"DEL", "S2", file_named("a\x7f")},
      {"C1 control", "S2", file_named("a\xc2\x9b")},
      {"backslashes", "S1", file_named("..\\..\\pwn")},
      {"drive letter", "S1", file_named("C:/x")},
      {"UNC", "S1", file_named("\\\\host\\share")},
      {"not UTF-8, ustar", "S2", file_named("caf\xe9")},
      {"not UTF-8, PAX", "S2", pax_named("caf\xe9")},
      {"overlong UTF-8", "S2",
       file_named("a\xc0\xaf"
                  "b")},
      {"surrogate", "S2", file_named("a\xed\xa0\x80")},
      {"control in a link target", "S2", TarBuilder{}.symlink("l", "a\nb").closed()},
      {"control, non-UTF-8 accepted", "S2", file_named("caf\xe9\n"), {.allow_non_utf8 = true}},
      {"foreign hdrcharset", "S2", TarBuilder{}.pax({{"hdrcharset", "KOI8-R"}}).file("f", "").closed()},
  };
}

std::vector<Row> type_rows() {
  std::vector<Row> rows{
      {"hard link with data", "S3",
       TarBuilder{}
           .file("a", "x")
           .header({.name = "b", .type = '1', .link = "a", .size = 5})
           .data("hello")
           .closed()},
      {"directory with data", "S3",
       TarBuilder{}.header({.name = "d", .type = '5', .size = 5}).data("hello").closed()},
      {"symbolic link with data", "S3",
       TarBuilder{}.header({.name = "l", .type = '2', .link = "x", .size = 5}).data("hello").closed()},
      {"file with a link target", "S3", TarBuilder{}.header({.name = "f", .link = "g"}).closed()},
      {"file with a PAX link target", "S3", TarBuilder{}.pax({{"linkpath", "g"}}).file("f", "").closed()},
      {"file with a GNU link target", "S3", TarBuilder{}.gnu_long('K', "g").file("f", "").closed()},
      {"empty link target", "S3", TarBuilder{}.symlink("l", "").closed()},
      {"multi-volume", "S3", TarBuilder{}.pax({{"GNU.volume.filename", "x"}}).file("f", "").closed()},
      {"old GNU sparse", "S6", of_type('S')},
  };
  for (const char type : std::string{"3467ZMDVNXA "})
    rows.push_back({std::string{"type "} + type, "S3", of_type(type)});
  return rows;
}

std::vector<Row> link_rows() {
  return {
      {"absolute symbolic link", "S3", TarBuilder{}.symlink("bin/python", "/usr/bin/python3").closed()},
      {"relative symbolic link out", "S3", TarBuilder{}.symlink("a/l", "../../x").closed()},
      {"symbolic link through a name and back", "S3", TarBuilder{}.symlink("l", "a/../b").closed()},
      {"symbolic link out in PAX", "S3",
       TarBuilder{}.pax({{"linkpath", "/etc"}}).symlink("l", "ok").closed()},
      {"symbolic link of 5,000 bytes", "S1",
       TarBuilder{}.pax({{"linkpath", std::string(5000, 'a')}}).symlink("l", "x").closed()},
      {"NUL in a link target", "S1",
       TarBuilder{}.pax({{"linkpath", std::string("a\0b", 3)}}).symlink("l", "x").closed()},
      {"hard link to an absolute path", "S1", TarBuilder{}.hardlink("h", "/etc/passwd").closed()},
      {"hard link to a parent", "S1", TarBuilder{}.hardlink("h", "../x").closed()},
      {"hard link out in PAX", "S1", TarBuilder{}.pax({{"linkpath", "/abs"}}).hardlink("h", "ok").closed()},
      {"hard link to nothing", "S1", TarBuilder{}.hardlink("h", "").closed()},
  };
}

std::vector<Row> size_rows() {
  return {
      {"negative base-256", "S6",
       TarBuilder{}.header({.name = "f", .size_field = std::string(12, '\xff')}).closed()},
      {"2^62", "S6", TarBuilder{}.header({.name = "f", .size_field = base256(1ULL << 62)}).closed()},
      {"2^64", "S8",
       TarBuilder{}
           .header({.name = "f", .size_field = std::string("\x80\0\0\1", 4) + std::string(8, '\0')})
           .closed()},
      {"PAX size -1", "S6", TarBuilder{}.pax({{"size", "-1"}}).file("f", "").closed()},
      {"PAX size with a sign", "S6", TarBuilder{}.pax({{"size", "+1"}}).file("f", "x").closed()},
      {"two sizes, inner archive smuggled", "S6",
       TarBuilder{}.pax({{"size", "1024"}}).header({.name = "f"}).raw(file_named("evil")).closed()},
      {"two sizes, header larger", "S6", TarBuilder{}.pax({{"size", "0"}}).file("f", "hello").closed()},
      {"PAX sparse", "S6",
       TarBuilder{}
           .pax({{"GNU.sparse.major", "1"}, {"GNU.sparse.realsize", "1099511627776"}})
           .file("f", "")
           .closed()},
      {"star sparse", "S6", TarBuilder{}.pax({{"SCHILY.realsize", "99"}}).file("f", "").closed()},
      {"more bytes than stated",
       "S6",
       TarBuilder{}.file("a", "12345").file("b", "12345").closed(),
       {.max_bytes = 9}},
      {"more entries than stated",
       "S9",
       TarBuilder{}.file("a", "").file("b", "").closed(),
       {.max_entries = 1}},
      {"set-user-ID", "S7", TarBuilder{}.file("f", "x", 04755).closed()},
      {"set-group-ID", "S7", TarBuilder{}.file("f", "x", 02755).closed()},
  };
}

std::vector<Row> form_rows() {
  const auto good = TarBuilder{}.file("f", "hello");
  const auto cut = [&](std::size_t size) { return good.closed().substr(0, size); };
  return {
      {"no bytes", "S8", ""},
      {"no entries", "S8", TarBuilder{}.closed()},
      {"cut inside the header", "S8", cut(300)},
      {"cut before the data", "S8", cut(512)},
      {"cut inside the data", "S8", cut(514)},
      {"cut inside the padding", "S8", cut(900)},
      {"no closing blocks", "S8", cut(1024)},
      {"one closing block", "S8", cut(1536)},
      {"cut inside the second closing block", "S8", cut(2000)},
      {"one zero block, then an entry", "S8", good.bytes() + std::string(512, '\0') + good.closed()},
      {"a second archive behind", "S8", good.closed() + good.closed()},
      {"bytes behind", "S8", good.closed() + std::string(512, '\0') + "x"},
      {"64 MiB of zeros behind", "S8", good.closed() + std::string(65 * k_mib, '\0')},
      {"checksum of the first header", "S8",
       TarBuilder{}.header({.name = "f", .checksum_error = 1}).closed()},
      {"checksum in the middle", "S8",
       TarBuilder{}.file("a", "1").header({.name = "b", .checksum_error = 8}).file("c", "2").closed()},
      {"unknown magic", "S8", TarBuilder{}.header({.name = "f", .magic = "ustar 00"}).closed()},
      {"size is no number", "S8", TarBuilder{}.header({.name = "f", .size_field = "0000000001x"}).closed()},
      {"mode is no number", "S8", TarBuilder{}.header({.name = "f", .mode_field = "rwxr-xr"}).closed()},
      {"text after the name's end", "S8",
       TarBuilder{}.header({.name = "f", .name_field = std::string("f\0../pwn", 8)}).closed()},
      {"PAX record too long", "S8", pax_raw("99 path=x\n")},
      {"PAX record too short", "S8", pax_raw("5 path=x\n")},
      {"PAX record without newline", "S8", pax_raw("9 path=xx")},
      {"PAX record without =", "S8", pax_raw("9 pathxx\n")},
      {"PAX record without length", "S8", pax_raw("path=x\n")},
      {"PAX length with zeros", "S8", pax_raw("0010 path=x\n")},
      {"PAX length overflows", "S8", pax_raw("99999999999999999999 path=x\n")},
      {"PAX key empty", "S8", pax_raw("5 =x\n")},
      {"PAX header empty", "S8", pax_raw("")},
      {"PAX padding counted as a record", "S8", pax_raw(std::string("9 path=a\n\0\0\0", 12))},
      {"two PAX paths", "S8", TarBuilder{}.pax({{"path", "a"}, {"path", "b"}}).file("f", "").closed()},
      {"empty PAX path", "S8", TarBuilder{}.pax({{"path", ""}}).file("f", "").closed()},
      {"PAX time is no number", "S8", TarBuilder{}.pax({{"mtime", "now"}}).file("f", "").closed()},
      {"PAX header above 64 KiB", "S8",
       TarBuilder{}.pax({{"comment", std::string(70'000, 'c')}}).file("f", "").closed()},
      {"two PAX headers", "S8",
       TarBuilder{}.pax({{"path", "a"}}).pax({{"path", "b"}}).file("f", "").closed()},
      {"PAX and GNU names", "S8",
       TarBuilder{}.pax({{"path", "a"}}).gnu_long('L', "b").file("f", "").closed()},
      {"two GNU names", "S8", TarBuilder{}.gnu_long('L', "a").gnu_long('L', "b").file("f", "").closed()},
      {"PAX header without entry", "S8", TarBuilder{}.pax({{"path", "a"}}).closed()},
      {"global path", "S8", TarBuilder{}.pax({{"path", "a"}}, 'g').file("f", "").closed()},
      {"global header late", "S8", TarBuilder{}.file("f", "").pax({{"comment", "a"}}, 'g').closed()},
      {"two global headers", "S8",
       TarBuilder{}.pax({{"comment", "a"}}, 'g').pax({{"comment", "a"}}, 'g').closed()},
  };
}

void refuse_all(const std::vector<Row>& rows) {
  for (const auto& row : rows) {
    INFO(row.title);
    const auto refusal = refusal_of_tar(row.tar, row.rules);
    CHECK_THAT(refusal, Catch::Contains("rule " + row.rule + ")"));
    // Nothing of the archive's own bytes may reach a terminal as they are.
    CHECK(refusal.find_first_of("\x1b\n\x7f") == std::string::npos);
  }
}

TEST_CASE("names that leave or are none are refused") {
  refuse_all(name_rows());
}
TEST_CASE("names that other machines or terminals misread are refused") {
  refuse_all(text_rows());
}
TEST_CASE("entries that are no file, directory or link are refused") {
  refuse_all(type_rows());
}
TEST_CASE("links that lead out are refused") {
  refuse_all(link_rows());
}
TEST_CASE("sizes that lie and modes that harm are refused") {
  refuse_all(size_rows());
}
TEST_CASE("streams that are damaged or incomplete are refused") {
  refuse_all(form_rows());
}

TEST_CASE("a refusal names the entry, its number and the reason") {
  const auto refusal = refusal_of_tar(TarBuilder{}.file("good", "x").file("bad\x1b", "y").closed());
  CHECK(refusal == "entry 2 'bad\\x1b': its name has control characters (rule S2)");
  CHECK_THAT(refusal_of_tar(of_type('S')), Catch::Contains("packed as sparse; repack with --no-read-sparse"));
}

TEST_CASE("what comes before a refused entry has been told in order") {
  test::StringSource source{test::zstd_frame(TarBuilder{}.file("a", "1").file("../b", "2").closed())};
  test::Recorder recorder;
  ByteBudget budget{k_mib};
  CHECK_THROWS_AS(archive::read_archive(source, {}, recorder, budget, Stop{}), Error);
  CHECK(recorder.entries.size() <= 1);
}

}  // namespace
}  // namespace decant
