// SPDX-License-Identifier: Apache-2.0
// Archives as the real tools make them, against what GNU tar unpacks from the same bytes, and against the
// packed tree where GNU tar does not keep directory times (it does not for bsdtar's order of entries).
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "part_bench.hpp"
#include "support/catch.hpp"

namespace decant {
namespace {

using test::PartBench;

bool run(const std::string& command) {
  return std::system(("(" + command + ") >/dev/null 2>&1").c_str()) == 0;
}
bool has(const std::string& tool) {
  return run("command -v " + tool);
}

struct Recipe {
  std::string title;
  std::string needs;   // programs, space-separated
  std::string shell;   // run in the directory to pack; $OUT is the .tar.zst, $TAR a scratch name
  bool plain = false;  // this way of packing has no long names, links or times
  bool as_packed = false;
};

std::vector<Recipe> recipes() {
  std::vector<Recipe> all;
  for (const std::string format : {"gnu", "oldgnu", "posix"}) {
    all.push_back(
        {"GNU tar " + format, "tar zstd", "tar --format=" + format + " -cf $TAR . && zstd -q $TAR -o $OUT"});
  }
  for (const std::string format : {"v7", "ustar"}) {
    all.push_back({"GNU tar " + format, "tar zstd",
                   "tar --format=" + format + " -cf $TAR * && zstd -q $TAR -o $OUT", true});
  }
  for (const std::string format : {"pax", "gnutar", "ustar"}) {
    for (const std::string locale : {"C", "C.UTF-8"}) {
      all.push_back({"bsdtar " + format + " " + locale, "bsdtar zstd",
                     "LC_ALL=" + locale + " bsdtar --no-read-sparse --format=" + format +
                         " -cf $TAR . && zstd -q $TAR -o $OUT",
                     format == "ustar", true});
    }
  }
  for (const std::string format : {"PAX", "GNU"}) {
    all.push_back({"tarfile " + format, "python3 zstd",
                   "python3 -c 'import os,tarfile; t=tarfile.open(os.environ[\"TAR\"],\"w\",format=tarfile." +
                       format + "_FORMAT); t.add(\".\"); t.close()' && zstd -q $TAR -o $OUT"});
  }
  all.push_back({"tarfile USTAR", "python3 zstd",
                 "python3 -c 'import os,tarfile; "
                 "t=tarfile.open(os.environ[\"TAR\"],\"w\",format=tarfile.USTAR_FORMAT); "
                 "t.add(\".\"); t.close()' && zstd -q $TAR -o $OUT",
                 true});
  all.push_back({"git archive", "git zstd",
                 "export GIT_DIR=$TAR.git GIT_CONFIG_NOSYSTEM=1 HOME=/nonexistent && git init -q && "
                 "GIT_WORK_TREE=. git add -A && GIT_WORK_TREE=. git -c user.name=n -c "
                 "user.email=e@example.org commit -qm m "
                 "&& git archive HEAD -o $TAR && zstd -q $TAR -o $OUT"});
  all.push_back({"zstd --long", "tar zstd", "tar -cf $TAR . && zstd -q --long=27 --ultra -20 $TAR -o $OUT"});
  all.push_back({"zstd -T", "tar zstd", "tar -cf $TAR . && zstd -q -T2 -1 $TAR -o $OUT"});
  all.push_back({"pzstd", "tar pzstd", "tar -cf $TAR . && pzstd -q -p 2 -1 $TAR -o $OUT"});
  return all;
}

void make_tree(const std::string& at, bool plain) {
  test::write_file(at + "/small.txt", "small\n");
  test::write_file(at + "/sub/dir/empty", "");
  test::write_file(at + "/sub/random.bin", test::random_bytes(11, 5'000'000));
  test::write_file(at + "/sub/zeros.bin", std::string(300'000, '\0'));
  test::write_file(at + "/sub/run.sh", "#!/bin/sh\n");
  REQUIRE(run("chmod 755 " + at + "/sub/run.sh"));
  REQUIRE(run("ln -s ../small.txt " + at + "/sub/link"));
  if (!plain) {
    test::write_file(at + "/" + std::string(140, 'l') + "/" + std::string(180, 'n'), "long");
    test::write_file(at + "/caf\xc3\xa9/na\xc3\xafve", "nfc");
    test::write_file(at + "/cafe\xcc\x81", "nfd");
    REQUIRE(run("ln -s " + std::string(160, 't') + " " + at + "/longlink"));
    REQUIRE(run("ln " + at + "/small.txt " + at + "/sub/hard"));
  }
  REQUIRE(run("find " + at + " -depth -exec touch -h -d @1700000000.5 {} +"));
}

// Links' own times are not content.
std::map<std::string, std::string> comparable(const std::string& directory) {
  auto tree = test::snapshot(directory);
  for (auto& [path, line] : tree) {
    if (line.compare(0, 5, "link ") == 0) line.erase(0, line.find(" -> "));
  }
  return tree;
}

TEST_CASE("archives of the real tools unpack as the tool unpacks them") {
  for (const auto& recipe : recipes()) {
    DYNAMIC_SECTION(recipe.title) {
      for (const auto& tool :
           {recipe.needs.substr(0, recipe.needs.find(' ')), std::string{"tar"}, std::string{"zstd"}}) {
        if (has(tool)) continue;
        WARN("skipped, there is no " << tool);
        return;
      }
      PartBench bench;
      const auto source = bench.scratch("source");
      make_tree(source, recipe.plain);
      const auto out = bench.scratch("out.tar.zst");
      REQUIRE(run("cd " + source + " && export OUT=" + out + " TAR=" + bench.scratch("t.tar") + " && " +
                  recipe.shell));
      REQUIRE(run("umask 022; mkdir " + bench.scratch("expected") + " && zstd -dcq --long=27 " + out +
                  " | tar -xf - -C " + bench.scratch("expected") + " --no-same-owner --no-same-permissions"));
      bench.run_zst(test::read_file(out));
      const auto expected = comparable(recipe.as_packed ? source : bench.scratch("expected"));
      auto found = comparable(bench.stage());
      CHECK(expected.size() >= 7);
      for (const auto& [path, line] : expected) {
        INFO(path);
        CHECK(found[path] == line);
      }
      CHECK(found.size() == expected.size());
    }
  }
}

}  // namespace
}  // namespace decant
