// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "helpers.hpp"

using namespace decant;
using namespace decant::test;
using Labels = std::vector<std::string>;

TEST_CASE("extra files are looked for inside the release's directories, never beside them") {
  const TempDir dir;
  const verify::Tree tree = sample_tree(dir);
  write_file(tree.path + "/mine.txt", "beside");
  write_file(tree.path + "/mine/too.txt", "beside");
  write_file(tree.path + "/data/extra.txt", "inside");
  write_file(tree.path + "/data/strange/one", "inside");
  write_file(tree.path + "/data/strange/two", "inside");
  const report::Result result = prove({tree});
  CHECK(result.findings.empty());
  CHECK(note_labels(result) == Labels{"extra bundle:data/extra.txt", "extra bundle:data/strange/"});
  CHECK(result.trees.at("bundle").extra == 2);
}

TEST_CASE("generated files are a class of their own, also in closed directories") {
  const TempDir dir;
  verify::Tree tree = sample_tree(dir);
  tree.closed = {fs::RelPath::require("data", "closed")};
  write_file(tree.path + "/data/__pycache__/m.cpython-312.pyc", "x");
  write_file(tree.path + "/data/old.pyc", "x");
  write_file(tree.path + "/data/sub/.nfs0001", "x");
  write_file(tree.path + "/data/.cache/huggingface/x", "x");
  const report::Result result = prove({tree});
  CHECK(result.findings.empty());
  CHECK(note_labels(result) == Labels{"generated bundle:data/.cache/huggingface",
                                      "generated bundle:data/__pycache__", "generated bundle:data/old.pyc",
                                      "generated bundle:data/sub/.nfs0001"});
  CHECK(result.trees.at("bundle").generated == 4);
}

TEST_CASE("an extra file in a closed directory is a finding") {
  const TempDir dir;
  verify::Tree tree = sample_tree(dir);
  write_file(tree.path + "/data/sub/more.py", "x");
  write_file(tree.path + "/bin/more", "x");
  tree.closed = {fs::RelPath::require("data", "closed")};
  const report::Result result = prove({tree});
  CHECK(labels(result) == Labels{"extra bundle:data/sub/more.py"});
  CHECK(note_labels(result) == Labels{"extra bundle:bin/more"});
}

TEST_CASE("decant's own state at a closed root's top is never extra, nor is another tree in it") {
  const TempDir dir;
  verify::Tree tree = sample_tree(dir);
  tree.closed = {fs::RelPath{}};
  write_file(tree.path + "/.decant/roots.json", "{}");
  write_file(tree.path + "/.decant-staging-12ab/marker", "x");
  write_file(tree.path + "/restore_lock.json", "{}");
  write_file(tree.path + "/roots/runtime/bin/python", "x");
  write_file(tree.path + "/stray", "x");
  const verify::Tree runtime{.name = "runtime",
                             .path = tree.path + "/roots/runtime",
                             .entries = expect_directory(tree.path + "/roots/runtime")};
  CHECK(labels(prove({tree, runtime})) == Labels{"extra bundle:stray"});
}
