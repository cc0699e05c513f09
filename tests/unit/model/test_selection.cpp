// SPDX-License-Identifier: Apache-2.0
#include "decant/model/selection.hpp"

#include "model_support.hpp"

using namespace decant;
using namespace decant::model;
using test::path_of;

namespace {

using Words = std::vector<std::string>;

PartSpec unpack(std::string name, std::string root, std::string_view under, std::set<std::string> tags = {}) {
  return {.name = std::move(name), .root = std::move(root), .under = path_of(under), .tags = std::move(tags)};
}

ReleaseManifest sample() {
  ReleaseManifest manifest;
  manifest.parts.push_back(unpack("data", "bundle", ""));
  manifest.parts.push_back(unpack("images_000", "bundle", "media/sft", {"media"}));
  manifest.parts.push_back(unpack("rt", "runtime", ""));
  manifest.parts.push_back({.name = "notes",
                            .kind = PartKind::place,
                            .root = "bundle",
                            .as = path_of("docs/NOTES.md"),
                            .tags = {"text"}});
  manifest.trees.push_back({.name = "runtime", .root = "runtime", .under = path_of("venv")});
  manifest.trees.push_back({.name = "photos", .root = "bundle", .under = path_of("media")});
  manifest.trees.push_back(
      {.name = "base-model", .external = true, .files = {{.path = path_of("config.json")}}});
  return manifest;
}

// "part part! …": wanted parts, `!` when wanted whole.
std::string wanted(const Selection& selection, const ReleaseManifest& manifest) {
  std::string text;
  for (const PartSpec& part : manifest.parts) {
    const bool whole = selection.wants_whole_part(part);
    if (whole) CHECK(selection.wants_part(part));
    if (selection.wants_part(part)) text += (text.empty() ? "" : " ") + part.name + (whole ? "!" : "");
  }
  return text;
}

}  // namespace

TEST_CASE("words choose parts") {
  struct Row {
    const char* name;
    Words only;
    Words skip;
    const char* wanted;
  };
  const Row rows[] = {
      {"no words: everything", {}, {}, "data! images_000! rt! notes!"},
      {"a part", {"data"}, {}, "data!"},
      {"a tag", {"media"}, {}, "images_000!"},
      {"a part and a tag", {"data", "text"}, {}, "data! notes!"},
      {"a tree within a part", {"runtime"}, {}, "rt"},
      {"a tree around a part", {"photos"}, {}, "data images_000!"},
      {"an external tree", {"base-model"}, {}, ""},
      {"skip a part", {}, {"data"}, "images_000! rt! notes!"},
      {"skip a tag", {}, {"media"}, "data! rt! notes!"},
      {"skip a tree", {}, {"photos"}, "data rt! notes!"},
      {"skip an external tree", {}, {"base-model"}, "data! images_000! rt! notes!"},
      {"skip wins", {"media"}, {"images_000"}, ""},
      {"a glob everywhere", {"**"}, {}, "data! images_000! rt! notes!"},
      {"a glob by ending", {"**/*.md"}, {}, "data images_000 rt notes!"},
      {"a glob below a directory", {"media/**"}, {}, "data images_000! rt"},
      {"a glob that a part's directory excludes", {"swift_src/**"}, {}, "data rt"},
      {"a glob that ends above a part", {"media/*"}, {}, "data images_000! rt"},
      {"a directory by path", {"media/sft"}, {}, "data images_000! rt"},
      {"a directory with a slash behind it", {"media/"}, {}, "data images_000! rt"},
      {"a glob deep in a part", {"media/sft/a/*.jpg"}, {}, "data images_000 rt"},
      {"a glob in another root", {"runtime/venv/**"}, {}, "data rt"},
      {"a whole other root", {"runtime/**"}, {}, "data rt!"},
      {"a place by path", {"docs/NOTES.md"}, {}, "data rt notes!"},
      {"a place by its folder", {"docs/*"}, {}, "data rt notes!"},
      {"another place", {"docs/OTHER.md"}, {}, "data rt"},
      {"skip a directory", {}, {"media/**"}, "data rt notes!"},
      {"skip a place", {}, {"docs/**"}, "data images_000! rt"},
      {"skip everything", {}, {"**"}, ""},
      {"only a tag without some of it", {"media"}, {"**/*.gif"}, "images_000"},
      {"dot slash", {"./media/sft"}, {}, "data images_000! rt"},
  };
  const auto manifest = sample();
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(wanted(Selection{row.only, row.skip, manifest}, manifest) == row.wanted);
  }
}

TEST_CASE("words choose entries") {
  struct Row {
    const char* name;
    Words only;
    Words skip;
    const char* part;
    const char* path;
    bool wanted;
  };
  const Row rows[] = {
      {"everything", {}, {}, "data", "a/b", true},
      {"by part", {"data"}, {}, "data", "a/b", true},
      {"by another part", {"rt"}, {}, "data", "a/b", false},
      {"by tree", {"photos"}, {}, "data", "media/x", true},
      {"the tree itself", {"photos"}, {}, "data", "media", true},
      {"beside the tree", {"photos"}, {}, "data", "media2/x", false},
      {"the same path in another root", {"photos"}, {}, "rt", "media/x", false},
      {"star stays in a component", {"*.md"}, {}, "data", "a/x.md", false},
      {"star at the top", {"*.md"}, {}, "data", "x.md", true},
      {"a matched directory is whole", {"a/*"}, {}, "data", "a/b/c/d", true},
      {"below a named directory", {"a/b"}, {}, "data", "a/b/c", true},
      {"beside a named directory", {"a/b"}, {}, "data", "a/bc", false},
      {"two stars", {"iter_0021923/**"}, {}, "data", "iter_0021923/extra_state/x.pt", true},
      {"two stars, another one", {"iter_0021923/**"}, {}, "data", "iter_0017539/x", false},
      {"another root, own path", {"venv/**"}, {}, "rt", "venv/bin/python", true},
      {"another root, with its name", {"runtime/venv/**"}, {}, "rt", "venv/bin/python", true},
      {"the bundle has no name in paths", {"bundle/**"}, {}, "data", "a", false},
      {"skip by glob", {}, {"**/*.gif"}, "data", "a/x.gif", false},
      {"skip keeps the rest", {}, {"**/*.gif"}, "data", "a/x.jpg", true},
      {"skip beats only", {"data"}, {"a/**"}, "data", "a/x", false},
      {"a file by dot slash", {"./README.md"}, {}, "data", "README.md", true},
      {"set", {"log[0-9]/**"}, {}, "data", "log3/x", true},
  };
  const auto manifest = sample();
  for (const Row& row : rows) {
    INFO(row.name);
    const Selection selection{row.only, row.skip, manifest};
    CHECK(selection.wants_entry(*manifest.find_part(row.part), path_of(row.path)) == row.wanted);
  }
}

TEST_CASE("loose files are chosen one by one") {
  const auto loose = [](std::string_view path) {
    return LooseFile{.repo_path = path_of(path), .path = path_of(path), .digest = test::git_of('1')};
  };
  const auto manifest = loose_manifest("r", {loose("iter_1/a"), loose("iter_2/a"), loose("README.md")});
  const auto check = [&](const Words& only, const Words& skip, const char* expected) {
    CHECK(wanted(Selection{only, skip, manifest}, manifest) == expected);
  };
  check({}, {}, "files!");
  check({"iter_2/**"}, {}, "files");
  check({"iter_3/**"}, {}, "");
  check({"files"}, {}, "files!");
  check({}, {"iter_*/**"}, "files");
  check({}, {"**"}, "");
}

TEST_CASE("a word that names nothing is a usage error that lists the words") {
  const auto manifest = sample();
  const auto problem = test::problem_of([&] { Selection({}, {"medai"}, manifest); });
  CHECK(problem.kind == ErrorKind::usage);
  CHECK(problem.thing == "--skip medai: no tag, part or tree has this name");
  CHECK(problem.expected == "one of base-model, data, images_000, media, notes, photos, rt, runtime, text");
  CHECK_THAT(problem.hint, Catch::Contains("perhaps media"));
  CHECK_THAT(problem.hint, Catch::Contains("--skip './medai'"));
  CHECK_THROWS_AS((Selection{{"images"}, {}, manifest}), Error);
  CHECK_THROWS_AS((Selection{{""}, {}, manifest}), Error);
}

TEST_CASE("a selection keeps its words") {
  const Selection everything;
  CHECK(everything.is_everything());
  const Selection some{{"data"}, {"media"}, sample()};
  CHECK_FALSE(some.is_everything());
  CHECK(some.only() == Words{"data"});
  CHECK(some.skip() == Words{"media"});
}
