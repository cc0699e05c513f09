// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "decant/hash/hasher.hpp"
#include "helpers.hpp"

using namespace decant;
using namespace decant::test;
using Labels = std::vector<std::string>;

namespace {

// Counts what is announced to be read.
class Totals final : public progress::Reporter {
 public:
  void totals(std::uint64_t bytes, std::uint64_t) override { bytes_to_read = bytes; }
  std::shared_ptr<progress::PartCounters> part(std::string_view name, std::uint64_t bytes_total) override {
    auto counters = progress::silent_reporter().part(name, bytes_total);
    parts.push_back(counters);
    return counters;
  }
  void message(progress::Level, std::string_view) override {}
  void waiting(std::string_view) override {}
  void problem(const Problem&) override {}
  void finding(std::string_view text) override { findings.emplace_back(text); }
  void phase(std::string_view) override {}

  std::uint64_t bytes_to_read = 0;
  std::vector<std::shared_ptr<progress::PartCounters>> parts;
  std::vector<std::string> findings;
};

verify::Tree data_tree(const verify::Tree& root) {
  return {.name = "data",
          .path = root.path + "/data",
          .entries = expect_directory(root.path + "/data"),
          .is_root = false};
}

}  // namespace

TEST_CASE("a tree inside a root is digested from the same reading") {
  const TempDir dir;
  const verify::Tree root = sample_tree(dir);
  const verify::Tree inner = data_tree(root);
  Totals reporter;
  report::Result result;
  const Stop stop;
  verify::prove({inner, root}, {.level = verify::Level::every_byte}, reporter, stop, result);
  CHECK(result.findings.empty());
  CHECK(reporter.bytes_to_read == 3110);
  CHECK(reporter.parts.size() == 1);
  CHECK(reporter.parts[0]->bytes_done == 3110);
  CHECK(result.trees.size() == 1);  // counted once
  REQUIRE(result.digests.size() == 2);
  CHECK(result.digests[0].hex == prove({inner}).digests.at(0).hex);
  // The bundle's digest is over roots and external trees.
  CHECK(result.bundle_digest->hex == hash::sha256("bundle " + result.digests[1].hex + "\n").hex());
}

TEST_CASE("damage in a tree inside a root is one finding, and shows in both digests") {
  const TempDir dir;
  const verify::Tree root = sample_tree(dir);
  const verify::Tree inner = data_tree(root);
  const report::Result whole = prove({root, inner});
  std::filesystem::remove(root.path + "/data/sub/b.bin");
  const report::Result result = prove({root, inner});
  CHECK(labels(result) == Labels{"missing bundle:data/sub/b.bin"});
  CHECK(result.digests[0].hex != whole.digests[0].hex);
  CHECK(result.digests[1].hex != whole.digests[1].hex);
}

TEST_CASE("a tree given elsewhere is proven there against the same content") {
  const TempDir dir;
  const verify::Tree root = sample_tree(dir);
  verify::Tree inner = data_tree(root);
  const std::string digest = prove({root, inner}).digests[1].hex;
  inner.path = dir / "copy";
  std::filesystem::copy(root.path + "/data", inner.path, std::filesystem::copy_options::recursive);
  CHECK(prove({root, inner}).digests[1].hex == digest);
  write_file(inner.path + "/a.bin", random_bytes(9, 3000));
  CHECK(labels(prove({root, inner})) == Labels{"differs data:a.bin"});
}

TEST_CASE("what a tree expects beyond its root is read for it") {
  const TempDir dir;
  verify::Tree root = sample_tree(dir);
  const verify::Tree inner = data_tree(root);
  std::erase_if(root.entries, [](const auto& entry) { return entry.path.str() == "data/sub/b.bin"; });
  write_file(root.path + "/data/sub/b.bin", random_bytes(7, 100));
  const report::Result result = prove({root, inner});
  CHECK(labels(result) == Labels{"differs data:sub/b.bin"});
  CHECK(result.trees.at("tree data").expected == 1);
}

TEST_CASE("a root reached through a link contains its trees all the same") {
  const TempDir dir;
  verify::Tree root = sample_tree(dir);
  const verify::Tree inner = data_tree(root);
  std::filesystem::create_directory_symlink(root.path, dir / "link");
  root.path = dir / "link/";
  CHECK(prove({root, inner}).trees.size() == 1);
}

TEST_CASE("findings are told as they are found, on one line each") {
  const TempDir dir;
  const verify::Tree root = sample_tree(dir);
  std::filesystem::remove(root.path + "/data/a.bin");
  Totals reporter;
  report::Result result;
  const Stop stop;
  verify::prove({root}, {}, reporter, stop, result);
  CHECK(reporter.findings == Labels{"missing  bundle: data/a.bin [part data]"});
  CHECK(reporter.parts[0]->bytes_done == reporter.bytes_to_read);
}

TEST_CASE("a stop request ends the proof") {
  const TempDir dir;
  Stop stop;
  stop.request(2);
  report::Result result;
  CHECK_THROWS_AS(verify::prove({sample_tree(dir)}, {}, progress::silent_reporter(), stop, result),
                  Interrupted);
}
