// SPDX-License-Identifier: Apache-2.0
#include "helpers.hpp"

using namespace decant;
using namespace decant::test;

namespace {

void damage(const std::string& path) {
  std::string content = read_file(path);
  content[0] = static_cast<char>(content[0] ^ 1);
  write_file(path, content);
}

}  // namespace

TEST_CASE("the levels differ in what is hashed, and the verdict says which") {
  const TempDir dir;
  verify::Tree tree = sample_tree(dir);
  entry_of(tree, "data/a.bin").media = true;
  struct Row {
    verify::Level level;
    std::uint64_t hashed;
    std::uint64_t size_only;
    bool full;
    std::string verdict;
    bool finds_media;
    bool finds_data;
  };
  const std::vector<Row> rows{
      {verify::Level::quick, 0, 4, false, "verified by presence, type and size only; no byte was hashed",
       false, false},
      {verify::Level::standard, 3, 1, false, "verified; 1 media file by size only", false, true},
      {verify::Level::every_byte, 4, 0, true, "verified, every byte hashed", true, true},
  };
  for (const Row& row : rows) {
    DYNAMIC_SECTION(row.verdict) {
      const report::Result result = prove({tree}, row.level);
      const report::VerifyCounts& counts = result.trees.at("bundle");
      CHECK(counts.expected == 9);
      CHECK(counts.hashed == row.hashed);
      CHECK(counts.size_only == row.size_only);
      CHECK(counts.from_manifest == 4);
      CHECK(result.digests.at(0).full == row.full);
      CHECK(result.bundle_digest->full == row.full);
      CHECK(verify::verdict(result) == row.verdict);
      damage(tree.path + "/data/a.bin");
      CHECK(prove({tree}, row.level).findings.size() == (row.finds_media ? 1 : 0));
      damage(tree.path + "/data/a.bin");
      damage(tree.path + "/data/sub/b.bin");
      CHECK(prove({tree}, row.level).findings.size() == (row.finds_data ? 1 : 0));
    }
  }
}

TEST_CASE("counts tell where expectations come from and what was left out") {
  const TempDir dir;
  verify::Tree tree = sample_tree(dir);
  entry_of(tree, "data/a.bin").origin = verify::Origin::learned_index;
  entry_of(tree, "data/empty").origin = verify::Origin::pinned_index;
  tree.skipped = 12;
  const report::VerifyCounts counts = prove({tree}).trees.at("bundle");
  CHECK(counts.from_manifest == 2);
  CHECK(counts.from_learned_index == 1);
  CHECK(counts.from_pinned_index == 1);
  CHECK(counts.skipped == 12);
  CHECK(counts.bytes_hashed == 3110);
}
