// SPDX-License-Identifier: Apache-2.0
#include "source_argument.hpp"

#include "decant/base/error.hpp"
#include "support/catch.hpp"

namespace decant::cli {
namespace {

using model::RepoType;

}  // namespace

TEST_CASE("SOURCE names a repo, a revision and a path") {
  struct Row {
    std::string text;
    std::string repo;
    std::optional<RepoType> type;
    std::optional<std::string> revision;
    std::optional<std::string> path;
    std::string without;  // its revision
  };
  const std::vector<Row> rows{
      {"org/name", "org/name", {}, {}, {}, "org/name"},
      {"Org-1/na.me_2", "Org-1/na.me_2", {}, {}, {}, "Org-1/na.me_2"},
      {"hf://org/name", "org/name", RepoType::model, {}, {}, "hf://org/name"},
      {"hf://models/org/name", "org/name", RepoType::model, {}, {}, "hf://models/org/name"},
      {"hf://datasets/org/name", "org/name", RepoType::dataset, {}, {}, "hf://datasets/org/name"},
      {"hf://datasets/org/name/", "org/name", RepoType::dataset, {}, {}, "hf://datasets/org/name"},
      {"hf://datasets/org/name/a/b//",
       "org/name",
       RepoType::dataset,
       {},
       "a/b",
       "hf://datasets/org/name/a/b//"},
      {"hf://datasets/org/name@v1", "org/name", RepoType::dataset, "v1", {}, "hf://datasets/org/name"},
      {"hf://datasets/org/name@v1/", "org/name", RepoType::dataset, "v1", {}, "hf://datasets/org/name"},
      {"hf://datasets/org/name@v1/a/b", "org/name", RepoType::dataset, "v1", "a/b",
       "hf://datasets/org/name/a/b"},
      {"hf://datasets/org/name/a@b", "org/name", RepoType::dataset, {}, "a@b", "hf://datasets/org/name/a@b"},
      {"hf://datasets/org/name@v1/a@b/c@d", "org/name", RepoType::dataset, "v1", "a@b/c@d",
       "hf://datasets/org/name/a@b/c@d"},
      {"hf://datasets/org/name@v@1", "org/name", RepoType::dataset, "v@1", {}, "hf://datasets/org/name"},
      {"hf://org/name@refs%2Fpr%2f1/a", "org/name", RepoType::model, "refs/pr/1", "a", "hf://org/name/a"},
      {"hf://org/name@refs/pr/12", "org/name", RepoType::model, "refs/pr/12", {}, "hf://org/name"},
      {"hf://org/name@refs/convert/parquet/a/b", "org/name", RepoType::model, "refs/convert/parquet", "a/b",
       "hf://org/name/a/b"},
      {"hf://org/name@refs/other/1", "org/name", RepoType::model, "refs", "other/1", "hf://org/name/other/1"},
      {"hf://datasets/spaces/name", "spaces/name", RepoType::dataset, {}, {}, "hf://datasets/spaces/name"},
  };
  for (const auto& row : rows) {
    DYNAMIC_SECTION(row.text) {
      const auto source = parse_source(row.text);
      CHECK(source.kind == model::SourceKind::hub);
      CHECK(source.repo == row.repo);
      CHECK(source.repo_type == row.type);
      CHECK(source.revision == row.revision);
      CHECK(source.path == row.path);
      CHECK(without_revision(row.text) == row.without);
    }
  }
}

TEST_CASE("SOURCE that begins like a path is a directory") {
  struct Row {
    std::string text;
    std::string directory;
  };
  const std::vector<Row> rows{{"dir:a/b", "a/b"}, {"dir:/a@b", "/a@b"},    {"/a/b", "/a/b"},
                              {"./a", "./a"},     {"../a", "../a"},        {".", "."},
                              {"..", ".."},       {"dir:hf://x", "hf://x"}};
  for (const auto& row : rows) {
    DYNAMIC_SECTION(row.text) {
      const auto source = parse_source(row.text);
      CHECK(source.kind == model::SourceKind::directory);
      CHECK(source.directory == row.directory);
      CHECK_FALSE(source.revision.has_value());
      CHECK(without_revision(row.text) == row.text);
    }
  }
}

TEST_CASE("SOURCE that is neither is refused, and the forms are shown") {
  for (const std::string text : {"",
                                 "name",
                                 "org/",
                                 "org/name/more",
                                 "org name/x",
                                 "org/name@v1",
                                 "dir:",
                                 "hf://",
                                 "hf://datasets",
                                 "hf://datasets/",
                                 "hf://datasets/org",
                                 "hf://datasets/org/",
                                 "hf://datasets//name",
                                 "hf://org@v1/name",
                                 "hf://org/@v1",
                                 "hf://org/name@",
                                 "hf://org/name@/a",
                                 "hf://org/name//a",
                                 "hf://org/name/../a",
                                 "hf://org/..",
                                 "hf://spaces/org/name",
                                 "HF://org/name",
                                 "s3://bucket/key",
                                 "ms://org/name",
                                 "https://huggingface.co/org/name",
                                 "https://hf.co/datasets/org/name"}) {
    DYNAMIC_SECTION("'" << text << "'") {
      try {
        parse_source(text);
        FAIL("it was taken");
      } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::usage);
        CHECK(error.problem().expected.find("hf://datasets/ORG/NAME[@REV][/PATH]") != std::string::npos);
      }
    }
  }
}

TEST_CASE("an http address is a mirror") {
  const auto source = parse_source("http://mirror/r1");
  CHECK(source.kind == model::SourceKind::mirror);
  CHECK(source.mirror == "http://mirror/r1");
  CHECK(without_revision("http://mirror/a@b") == "http://mirror/a@b");
}

}  // namespace decant::cli
