// SPDX-License-Identifier: Apache-2.0
#include "decant/model/manifest.hpp"

#include "model_support.hpp"

using namespace decant;
using namespace decant::model;
using test::path_of;
using test::sha256_of;

namespace {

const std::string k_sha_a(64, 'a');

const std::string k_full = R"({"schema": "decant.release/1",
 "release": {"id": "r1"}, "x_note": {"any": ["thing"]}, "unknown": 1.5, "requires": [],
 "roots": [{"name": "runtime", "suggest": "/tmp", "inside_bundle": false}, {"name": "extra", "inside_bundle": true}],
 "parts": [
  {"name": "data", "path": "releases/r1/data.tar.zst", "size": 123, "sha256": ")" +
                           k_sha_a + R"(",
   "unpack": {"root": "bundle", "under": "", "entries": 4, "bytes": 1000, "window_log": 31},
   "index": {"path": "data.index.jsonl.zst", "size": 9, "sha256": ")" +
                           k_sha_a + R"("},
   "names": {"path": "data.list", "size": 9, "sha256": ")" +
                           k_sha_a + R"("}},
  {"name": "images_000", "path": "images_000.tar.zst", "size": 0, "sha256": ")" +
                           k_sha_a + R"(",
   "unpack": {"root": "bundle", "under": "media"}, "tags": ["media", "big"], "accept": ["dup-identical", "non-utf8", "setid-files"]},
  {"name": "runtime", "path": "rt.tar.zst", "size": 9223372036854775807, "sha256": ")" +
                           k_sha_a + R"(",
   "unpack": {"root": "runtime"}, "links": "allow-external"},
  {"name": "notes", "path": "NOTES.md", "size": 9, "sha256": ")" +
                           k_sha_a + R"(", "place": {"root": "bundle", "as": "media/NOTES.md"}}],
 "trees": [
  {"name": "runtime", "root": "runtime", "under": "venv"},
  {"name": "base-model", "external": true, "files": [
    {"path": "config.json", "size": 3, "sha256": ")" +
                           k_sha_a + R"("},
    {"path": "README.md", "sha256": ")" +
                           k_sha_a + R"(", "optional": true}],
   "from": {"repo": "Org/Model", "revision": "main"}},
  {"name": "vit", "external": true, "files_list": {"path": "vit.sha256", "size": 1, "sha256": ")" +
                           k_sha_a + R"("}}],
 "closed": [{"root": "bundle", "under": "media"}],
 "checks": [{"id": "rows", "type": "parquet", "rows": 5, "ratio": 1e-5, "where": {"root": "bundle"}}]})";

}  // namespace

TEST_CASE("a manifest gives all that it says") {
  const auto manifest = parse_manifest(k_full, "m.json", Completeness::full);
  CHECK(manifest.release_id == "r1");
  CHECK_FALSE(manifest.loose);
  REQUIRE(manifest.parts.size() == 4);

  const PartSpec& data = manifest.parts[0];
  CHECK(data.name == "data");
  CHECK(data.kind == PartKind::unpack);
  CHECK(data.file.path == path_of("releases/r1/data.tar.zst"));
  CHECK(data.file.size == 123);
  CHECK(data.file.digest == sha256_of('a'));
  CHECK(data.under.is_root());
  CHECK(data.entries == 4);
  CHECK(data.bytes == 1000);
  CHECK(data.window_log == 31);
  CHECK(data.links == LinkPolicy::inside_only);
  CHECK(data.index->path == path_of("data.index.jsonl.zst"));
  CHECK(data.names->path == path_of("data.list"));

  const PartSpec& images = manifest.parts[1];
  CHECK(images.is_media());
  CHECK(images.tags == std::set<std::string>{"big", "media"});
  CHECK(images.accept == std::set{Accept::dup_identical, Accept::non_utf8, Accept::setid_files});
  CHECK(images.file.size == 0);
  CHECK_FALSE(images.entries);

  CHECK(manifest.parts[2].links == LinkPolicy::allow_external);
  CHECK(manifest.parts[2].file.size == k_max_size);
  CHECK(manifest.parts[3].kind == PartKind::place);
  CHECK(manifest.parts[3].as == path_of("media/NOTES.md"));

  REQUIRE(manifest.trees.size() == 3);
  CHECK(manifest.trees[0].under == path_of("venv"));
  REQUIRE(manifest.trees[1].files.size() == 2);
  CHECK(manifest.trees[1].files[0].size == 3);
  CHECK_FALSE(manifest.trees[1].files[1].size);
  CHECK(manifest.trees[1].files[1].optional);
  CHECK(manifest.trees[1].from_repo == "Org/Model");
  CHECK(manifest.trees[1].from_repo_type == "model");
  CHECK(manifest.trees[1].from_revision == "main");
  CHECK(manifest.trees[2].files_list->path == path_of("vit.sha256"));

  REQUIRE(manifest.closed.size() == 1);
  CHECK(manifest.closed[0].under == path_of("media"));
  REQUIRE(manifest.checks.size() == 1);
  CHECK(manifest.checks[0].type == "parquet");
  CHECK(manifest.checks[0].json ==
        R"({"id":"rows","type":"parquet","rows":5,"ratio":1e-5,"where":{"root":"bundle"}})");
}

TEST_CASE("parts and roots are found by name") {
  const auto manifest = parse_manifest(k_full, "m.json", Completeness::full);
  REQUIRE(manifest.find_part("notes"));
  CHECK(manifest.find_part("notes")->name == "notes");
  CHECK(manifest.find_part("note") == nullptr);
  CHECK(manifest.find_root("runtime")->suggest == "/tmp");
  CHECK(manifest.find_root("extra")->inside_bundle);
  CHECK(manifest.find_root("bundle") == nullptr);
  CHECK(manifest.root_names() == std::vector<std::string>{"bundle", "runtime"});
}

TEST_CASE("a manifest of one's own may leave sizes and digests to the hub") {
  const std::string text = R"({"schema": "decant.release/1", "release": {"id": "r"},
    "parts": [{"name": "a", "path": "a.tar.zst", "unpack": {"root": "bundle"}, "names": {"path": "a.list"}}]})";
  const auto manifest = parse_manifest(text, "m.json", Completeness::may_lack_digests);
  CHECK_FALSE(manifest.parts.at(0).file.size);
  CHECK_FALSE(manifest.parts.at(0).file.digest);
  CHECK_FALSE(manifest.parts.at(0).names->digest);
  const auto problem = test::problem_of([&] { parse_manifest(text, "m.json", Completeness::full); });
  CHECK(problem.thing == "m.json: part a: size");
  CHECK_THAT(problem.hint, Catch::Contains("--manifest FILE"));
}

TEST_CASE("a manifest may hold trees only") {
  const std::string text = R"({"schema": "decant.release/1", "release": {"id": "r"}, "parts": [],
    "trees": [{"name": "m", "external": true, "files": [{"path": "a", "sha256": ")" +
                           k_sha_a + R"("}]}]})";
  CHECK(parse_manifest(text, "m.json", Completeness::full).trees.size() == 1);
}

TEST_CASE("peek_schema tells a foreign manifest from a broken one") {
  struct Row {
    const char* name;
    std::string text;
    std::string schema;
  };
  const Row rows[] = {
      {"first", R"({"schema": "other/3", "x": 1})", "other/3"},
      {"late", R"({"a": [{"schema": "deep"}], "b": {"schema": "deep"}, "schema": "top"})", "top"},
      {"broken behind it", R"({"schema": "other/3", !!)", "other/3"},
      {"not a text", R"({"schema": 3})", ""},
      {"not a text, then a text in a list", R"({"schema": ["x"]})", ""},
      {"none", R"({"a": 1})", ""},
      {"a list", R"([{"schema": "x"}])", ""},
      {"a text", R"("schema")", ""},
      {"not JSON", "<html>", ""},
      {"nothing", "", ""},
      {"very deep", std::string(100000, '{'), ""},
      {"deep lists", R"({"a": )" + std::string(100000, '['), ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(peek_schema(row.text) == row.schema);
  }
}

TEST_CASE("some names are kept for decant") {
  CHECK(is_reserved("bundle", path_of(".decant")));
  CHECK(is_reserved("bundle", path_of(".decant/x")));
  CHECK(is_reserved("bundle", path_of("restore_lock.json")));
  CHECK(is_reserved("runtime", path_of(".decant-stage-1/x")));
  CHECK(is_reserved("bundle", path_of(".decant-x")));
  CHECK_FALSE(is_reserved("runtime", path_of(".decant")));
  CHECK_FALSE(is_reserved("runtime", path_of("restore_lock.json")));
  CHECK_FALSE(is_reserved("bundle", path_of("a/.decant")));
  CHECK_FALSE(is_reserved("bundle", path_of(".decanter")));
  CHECK_FALSE(is_reserved("bundle", fs::RelPath{}));
}
