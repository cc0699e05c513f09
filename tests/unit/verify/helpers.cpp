// SPDX-License-Identifier: Apache-2.0
#include "helpers.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "decant/hash/hasher.hpp"

namespace decant::test {

using verify::Expected;
using verify::ExpectedType;

std::vector<Expected> expect_directory(const std::string& path) {
  std::vector<Expected> entries;
  for (const auto& item : std::filesystem::recursive_directory_iterator{path}) {
    Expected entry;
    entry.path = fs::RelPath::require(item.path().string().substr(path.size() + 1), "sample");
    if (item.is_symlink()) {
      entry.type = ExpectedType::symlink;
      entry.target = std::filesystem::read_symlink(item.path()).string();
    } else if (item.is_directory()) {
      entry.type = ExpectedType::dir;
    } else {
      const std::string content = read_file(item.path());
      struct stat st {};
      REQUIRE(::stat(item.path().c_str(), &st) == 0);
      entry.executable = (st.st_mode & S_IXUSR) != 0;
      entry.size = content.size();
      entry.digest = hash::sha256(content);
    }
    entries.push_back(std::move(entry));
  }
  return verify::with_parents(std::move(entries));
}

Expected& entry_of(verify::Tree& tree, const std::string& path) {
  for (Expected& entry : tree.entries) {
    if (entry.path.str() == path) return entry;
  }
  FAIL("no entry " << path);
  throw 0;
}

verify::Tree sample_tree(const TempDir& dir) {
  const std::string root = dir / "root";
  write_file(root + "/data/a.bin", random_bytes(1, 3000));
  write_file(root + "/data/sub/b.bin", random_bytes(2, 100));
  write_file(root + "/data/empty", "");
  write_file(root + "/bin/run", "#!/bin/sh\n");
  REQUIRE(::chmod((root + "/bin/run").c_str(), 0755) == 0);
  std::filesystem::create_directory(root + "/data/nothing");
  std::filesystem::create_symlink("data/a.bin", root + "/latest");
  return {.name = "bundle", .path = root, .entries = expect_directory(root), .parts = {"data"}};
}

report::Result prove(const std::vector<verify::Tree>& trees, verify::Level level, int readers) {
  report::Result result;
  const Stop stop;
  verify::prove(trees, {.level = level, .readers = readers}, progress::silent_reporter(), stop, result);
  return result;
}

std::vector<std::string> labels(const report::Result& result) {
  std::vector<std::string> list;
  for (const report::Finding& finding : result.findings) {
    list.push_back(std::string{report::to_string(finding.kind)} + ' ' + finding.tree + ':' + finding.path);
  }
  return list;
}

std::vector<std::string> note_labels(const report::Result& result) {
  std::vector<std::string> list;
  for (const report::Note& note : result.notes) list.push_back(note.kind + ' ' + note.tree + ':' + note.path);
  return list;
}

}  // namespace decant::test
