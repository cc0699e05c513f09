// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <random>

#include "decant/hash/hasher.hpp"
#include "helpers.hpp"

using namespace decant;
using namespace decant::test;
using verify::ExpectedType;
using verify::Observed;

namespace {

fs::RelPath path(const std::string& text) {
  return fs::RelPath::require(text, "test");
}

std::string output_of(const std::string& command) {
  FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), got);
  CHECK(::pclose(pipe) == 0);
  return text;
}

// decant.tree/1 by other means: find, sort, stat, sha256sum and the shell's own escaping of bytes. `$1` is
// the tree.
constexpr const char* k_oracle = R"sh(
set -eu
cd "$1"
LC_ALL=C
export LC_ALL
find . -mindepth 1 -printf '%P\0' | sort -z | while IFS= read -r -d '' p; do
  if [ -L "./$p" ]; then
    line="l 0 0 $(readlink -n -- "./$p" | sha256sum | cut -d' ' -f1)"
  elif [ -d "./$p" ]; then
    line="d 0 0 -"
  else
    x=0
    case "$(stat -c %A -- "./$p")" in ???x*) x=1 ;; esac
    line="f $x $(stat -c %s -- "./$p") $(sha256sum < "./$p" | cut -d' ' -f1)"
  fi
  printf '%s ' "$line"
  printf '%s' "$p" | od -An -v -tu1 -w1 | while read -r b; do
    if [ "$b" -lt 33 ] || [ "$b" -gt 126 ] || [ "$b" -eq 92 ]; then
      printf '\\x%02x' "$b"
    else
      printf "\\$(printf '%03o' "$b")"
    fi
  done
  printf '\n'
done | sha256sum | cut -d' ' -f1
)sh";

void make_random_tree(const std::string& top, unsigned seed) {
  const std::vector<std::string> names{
      "a",    "a-b", "a b", "a\\b", "a\nb", "\xff\xfe", "-n",    "caf\xc3\xa9", "~",    "A", "a.b", "\x01",
      "$(x)", "'q'", "z",   "a\tb", "*?",   "#",        " lead", "trail ",      "\x7f", "0", "!",   "\"d\""};
  std::mt19937 random{seed};
  std::vector<std::string> directories{top};
  std::filesystem::create_directory(top);
  for (int i = 0; i < 60; ++i) {
    const std::string where =
        directories[random() % directories.size()] + '/' + names[random() % names.size()];
    if (exists(where)) continue;
    switch (random() % 5) {
      case 0:
        std::filesystem::create_directory(where);
        directories.push_back(where);
        break;
      case 1:
        std::filesystem::create_symlink(names[random() % names.size()], where);
        break;
      default:
        write_file(where, random_bytes(random(), random() % 3000));
        ::chmod(where.c_str(), random() % 2 == 0 ? 0755 : 0655);
        break;
    }
  }
}

}  // namespace

TEST_CASE("the digest is what find, sort, stat and sha256sum make of the tree") {
  const TempDir dir;
  write_file(dir / "oracle.sh", k_oracle);
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const std::string top = dir / ("tree" + std::to_string(seed));
    make_random_tree(top, seed);
    const report::Result result = prove({{.name = "t", .path = top, .entries = expect_directory(top)}});
    CHECK(result.findings.empty());
    CHECK(result.digests.at(0).full);
    CHECK(result.digests.at(0).hex + '\n' == output_of("bash '" + (dir / "oracle.sh") + "' '" + top + "'"));
  }
}

TEST_CASE("one line tells type, x bit, size, content and escaped path") {
  struct Row {
    Observed observed;
    std::string path;
    std::string line;
  };
  const std::vector<Row> rows{
      {{.executable = true, .size = 12, .hex = "ab"}, "bin/run", "f 1 12 ab bin/run\n"},
      {{.size = 5, .hex = "size-only"}, "m.jpg", "f 0 5 size-only m.jpg\n"},
      {{.type = ExpectedType::dir, .executable = true, .size = 4096, .hex = "-"}, "d", "d 0 0 - d\n"},
      {{.type = ExpectedType::symlink, .size = 9, .hex = "cd"}, "l", "l 0 0 cd l\n"},
      {{.missing = true}, "gone", "missing - - - gone\n"},
      {{.hex = "ab"}, "a b\\c\n\xc3\xa9\x7f~!", "f 0 0 ab a\\x20b\\x5cc\\x0a\\xc3\\xa9\\x7f~!\n"},
  };
  for (const Row& row : rows) CHECK(verify::tree_line(row.observed, path(row.path)) == row.line);
}

TEST_CASE("the digest does not depend on readers, extras, times or other mode bits") {
  const TempDir dir;
  const verify::Tree tree = sample_tree(dir);
  const std::string digest = prove({tree}, verify::Level::every_byte, 1).digests.at(0).hex;
  CHECK(prove({tree}, verify::Level::every_byte, 7).digests.at(0).hex == digest);
  write_file(tree.path + "/data/extra", "x");
  ::chmod((tree.path + "/data/a.bin").c_str(), 0666);
  std::filesystem::last_write_time(tree.path + "/data/a.bin", {});
  CHECK(prove({tree}).digests.at(0).hex == digest);
}

TEST_CASE("entries in any order and without parents give the same digest") {
  const TempDir dir;
  verify::Tree tree = sample_tree(dir);
  const std::string digest = prove({tree}).digests.at(0).hex;
  std::erase_if(tree.entries, [](const auto& entry) { return entry.path.str() == "data"; });
  std::reverse(tree.entries.begin(), tree.entries.end());
  CHECK(prove({tree}).digests.at(0).hex == digest);
}

TEST_CASE("the bundle's digest is over names and digests in name order") {
  const std::string a(64, 'a');
  const std::string b(64, 'b');
  const auto digest = verify::bundle_digest({{"runtime", true, b}, {"bundle", true, a}});
  CHECK(digest.hex == hash::sha256("bundle " + a + "\nruntime " + b + "\n").hex());
  CHECK(digest.label() == "full:" + digest.hex);
  CHECK(verify::bundle_digest({{"x", false, a}, {"y", true, b}}).label().starts_with("partial:"));
}
