// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "helpers.hpp"

using namespace decant;
using namespace decant::test;
using Labels = std::vector<std::string>;

namespace {

// A model as the hub's cache holds it: a snapshot of links to blobs.
verify::Tree cached_model(const TempDir& dir) {
  const std::string plain = dir / "plain";
  write_file(plain + "/config.json", "{}");
  write_file(plain + "/model.safetensors", random_bytes(4, 5000));
  write_file(plain + "/sub/vocab.txt", "a b c");
  verify::Tree tree{.name = "base-model", .path = dir / "snapshot", .external = true};
  tree.entries = expect_directory(plain);
  for (verify::Expected& entry : tree.entries) {
    entry.check_mode = false;
    if (entry.type == verify::ExpectedType::dir) {
      std::filesystem::create_directories(tree.path + '/' + entry.path.str());
      continue;
    }
    const std::string blob = dir / ("blobs/" + entry.digest.hex());
    write_file(blob, read_file(plain + '/' + entry.path.str()));
    const std::string link = tree.path + '/' + entry.path.str();
    std::filesystem::create_directories(std::filesystem::path{link}.parent_path());
    std::filesystem::create_symlink(blob, link);
  }
  return tree;
}

}  // namespace

TEST_CASE("in an external tree links to files are followed and their bytes proven") {
  const TempDir dir;
  const verify::Tree tree = cached_model(dir);
  const report::Result result = prove({tree});
  CHECK(result.findings.empty());
  CHECK(result.trees.at("base-model").hashed == 3);

  SECTION("the digest is that of plain files") {
    verify::Tree plain = tree;
    plain.path = dir / "plain";
    CHECK(prove({plain}).digests.at(0).hex == result.digests.at(0).hex);
  }
  SECTION("a damaged blob is found") {
    const std::string blob = std::filesystem::canonical(tree.path + "/model.safetensors");
    std::string content = read_file(blob);
    content[100] = static_cast<char>(content[100] ^ 4);
    write_file(blob, content);
    CHECK(labels(prove({tree})) == Labels{"differs base-model:model.safetensors"});
  }
  SECTION("a dangling link is missing") {
    std::filesystem::remove(std::filesystem::canonical(tree.path + "/config.json"));
    const report::Result damaged = prove({tree});
    CHECK(labels(damaged) == Labels{"missing base-model:config.json"});
    CHECK(damaged.findings[0].found.starts_with("a link that leads nowhere: "));
  }
  SECTION("a link to itself is missing") {
    std::filesystem::remove(tree.path + "/config.json");
    std::filesystem::create_symlink("config.json", tree.path + "/config.json");
    CHECK(labels(prove({tree})) == Labels{"missing base-model:config.json"});
  }
  SECTION("a link to a directory is of the wrong type") {
    std::filesystem::remove(tree.path + "/config.json");
    std::filesystem::create_symlink("sub", tree.path + "/config.json");
    CHECK(labels(prove({tree})) == Labels{"wrong-type base-model:config.json"});
  }
}

TEST_CASE("an optional file may be absent, but not wrong") {
  const TempDir dir;
  verify::Tree tree = cached_model(dir);
  entry_of(tree, "sub/vocab.txt").optional = true;
  entry_of(tree, "sub").optional = true;
  SECTION("absent") {
    std::filesystem::remove_all(tree.path + "/sub");
    CHECK(prove({tree}).findings.empty());
  }
  SECTION("wrong") {
    std::filesystem::remove(tree.path + "/sub/vocab.txt");
    write_file(tree.path + "/sub/vocab.txt", "a b d");
    CHECK(labels(prove({tree})) == Labels{"differs base-model:sub/vocab.txt"});
  }
}

TEST_CASE("in an external tree files that loaders pick up by pattern are findings, others are notes") {
  const TempDir dir;
  const verify::Tree tree = cached_model(dir);
  write_file(tree.path + "/model-00001-of-00002.safetensors", "x");
  write_file(tree.path + "/adapter_config.json", "{}");
  write_file(tree.path + "/model.safetensors.index.json", "{}");
  write_file(tree.path + "/pytorch_model.bin", "x");
  write_file(tree.path + "/pytorch_model.bin.index.json", "{}");
  write_file(tree.path + "/README.md", "hello");
  write_file(tree.path + "/original/consolidated.safetensors", "x");
  write_file(tree.path + "/.cache/huggingface/download/config.json.metadata", "x");
  const report::Result result = prove({tree});
  CHECK(labels(result) ==
        Labels{"extra base-model:adapter_config.json", "extra base-model:model-00001-of-00002.safetensors",
               "extra base-model:model.safetensors.index.json", "extra base-model:pytorch_model.bin",
               "extra base-model:pytorch_model.bin.index.json"});
  CHECK(note_labels(result) == Labels{"extra base-model:README.md", "extra base-model:original/",
                                      "generated base-model:.cache/huggingface"});
}
