// SPDX-License-Identifier: Apache-2.0
#include "decant/model/manifest.hpp"
#include "model_support.hpp"

using namespace decant;
using namespace decant::model;
using test::path_of;

namespace {

LooseFile loose(std::string_view path) {
  return {.repo_path = path_of("top/" + std::string{path}),
          .path = path_of(path),
          .size = 1,
          .digest = test::git_of('1')};
}

}  // namespace

TEST_CASE("a repo without manifest is one part of its files") {
  const auto manifest = loose_manifest("ORG/REPO", {loose("b"), loose("a/c"), loose("a/b")});
  CHECK(manifest.loose);
  CHECK(manifest.release_id == "ORG/REPO");
  REQUIRE(manifest.parts.size() == 1);
  const PartSpec& part = manifest.parts[0];
  CHECK(part.name == "files");
  CHECK(part.kind == PartKind::files);
  CHECK(part.root == "bundle");
  REQUIRE(part.files.size() == 3);
  CHECK(part.files[0].path == path_of("a/b"));
  CHECK(part.files[0].repo_path == path_of("top/a/b"));
  CHECK(part.files[2].path == path_of("b"));
}

TEST_CASE("loose files that cannot lie beside each other are refused") {
  struct Row {
    const char* name;
    std::vector<LooseFile> files;
    const char* words;
  };
  const Row rows[] = {
      {"one path twice", {loose("a"), loose("a")}, "file top/a claims it too"},
      {"file and directory", {loose("a/b"), loose("a")}, "file top/a makes a a file"},
      {"over the lock", {loose("restore_lock.json")}, "keeps for itself"},
      {"into .decant", {loose(".decant/x")}, "keeps for itself"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto problem = test::problem_of([&] { loose_manifest("r", row.files); });
    CHECK(problem.kind == ErrorKind::state);
    CHECK_THAT(to_line(problem), Catch::Contains(row.words));
  }
}
