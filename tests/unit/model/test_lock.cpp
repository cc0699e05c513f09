// SPDX-License-Identifier: Apache-2.0
#include "decant/model/lock.hpp"

#include <set>

#include "decant/hash/hasher.hpp"
#include "model_support.hpp"
#include "support/golden.hpp"

using namespace decant;
using namespace decant::model;
using test::git_of;
using test::path_of;
using test::sha256_of;
using test::with;

namespace {

const std::string k_commit(40, 'c');

RestoreLock sample() {
  RestoreLock lock;
  lock.source = {.kind = SourceKind::hub,
                 .endpoint = "https://huggingface.co",
                 .repo_type = RepoType::dataset,
                 .repo = "ORG/REPO",
                 .requested_revision = "main",
                 .commit = k_commit};
  lock.release_path = path_of("releases/r1");
  lock.manifest_sha256 = sha256_of('e');
  lock.manifest_size = 77;
  lock.release_id = "r1";
  lock.parts = {{.name = "data",
                 .path = path_of("releases/r1/data.tar.zst"),
                 .size = 123,
                 .digest = sha256_of('a'),
                 .xet_hash = std::string(64, 'd')},
                {.name = "notes", .path = path_of("NOTES.md"), .size = 9, .digest = git_of('b')}};
  lock.tool_version = "0.1.0";
  return lock;
}

RestoreLock loose_sample() {
  RestoreLock lock = sample();
  lock.source.kind = SourceKind::directory;
  lock.source.endpoint = lock.source.repo = lock.source.commit = "";
  lock.manifest_origin = ManifestOrigin::none;
  lock.release_path = {};
  lock.parts = {{.name = "a \"b\"", .path = path_of("a \"b\""), .size = 0, .digest = sha256_of('a')},
                {.name = "x\xFFy", .path = path_of("x\xFFy"), .size = 1, .digest = sha256_of('a')}};
  return lock;
}

// A lock text with its digest put right again after an edit.
std::string sealed(std::string text) {
  const std::string key = "\"digest\": \"";
  const std::size_t at = text.find(key) + key.size();
  text.erase(at, 64);
  return text.insert(at, hash::sha256(text).hex());
}
std::string edited(std::string_view from, std::string_view to) {
  return sealed(with(to_json(sample()), from, to));
}

void check_equal(const RestoreLock& a, const RestoreLock& b) {
  CHECK(to_json(a) == to_json(b));
  CHECK(a.source.kind == b.source.kind);
  CHECK(a.source.endpoint == b.source.endpoint);
  CHECK(a.source.repo == b.source.repo);
  CHECK(a.source.commit == b.source.commit);
  CHECK(a.source.requested_revision == b.source.requested_revision);
  CHECK(a.release_path == b.release_path);
  CHECK(a.manifest_origin == b.manifest_origin);
  CHECK(a.manifest_sha256 == b.manifest_sha256);
  CHECK(a.manifest_size == b.manifest_size);
  CHECK(a.release_id == b.release_id);
  CHECK(a.tool_version == b.tool_version);
  REQUIRE(a.parts.size() == b.parts.size());
  for (std::size_t i = 0; i < a.parts.size(); ++i) {
    CHECK(a.parts[i].name == b.parts[i].name);
    CHECK(a.parts[i].path == b.parts[i].path);
    CHECK(a.parts[i].size == b.parts[i].size);
    CHECK(a.parts[i].digest == b.parts[i].digest);
    CHECK(a.parts[i].xet_hash == b.parts[i].xet_hash);
  }
}

}  // namespace

TEST_CASE("a lock's text is fixed to the byte") {
  const std::string text = to_json(sample());
  const std::string expected = R"({
  "schema": "decant.lock/1",
  "digest": ")" + lock_digest(sample()).hex() +
                               R"(",
  "tool_version": "0.1.0",
  "source": {
    "kind": "hub",
    "endpoint": "https://huggingface.co",
    "repo_type": "dataset",
    "repo": "ORG/REPO",
    "requested_revision": "main",
    "commit": ")" + k_commit + R"("
  },
  "release_path": "releases/r1",
  "release_id": "r1",
  "manifest": {"origin": "repo", "size": 77, "sha256": ")" +
                               std::string(64, 'e') + R"("},
  "parts": [
    {"name": "data", "path": "releases/r1/data.tar.zst", "size": 123, "sha256": ")" +
                               std::string(64, 'a') + R"(", "xet": ")" + std::string(64, 'd') + R"("},
    {"name": "notes", "path": "NOTES.md", "size": 9, "git-sha1": ")" +
                               std::string(40, 'b') + R"("}
  ]
}
)";
  CHECK(text == expected);
  CHECK(lock_digest(sample()) == hash::sha256(with(text, lock_digest(sample()).hex(), "")));
}

TEST_CASE("locks are as the documented examples") {
  test::check_golden("formats/restore_lock.json", to_json(sample()));
  test::check_golden("formats/restore_lock.loose.json", to_json(loose_sample()));
}

TEST_CASE("a lock comes back as it was") {
  check_equal(parse_lock(to_json(sample()), "l"), sample());
  check_equal(parse_lock(to_json(loose_sample()), "l"), loose_sample());
  RestoreLock empty = sample();
  empty.parts.clear();
  empty.manifest_origin = ManifestOrigin::local;
  empty.source.kind = SourceKind::mirror;
  empty.source.repo_type = RepoType::model;
  check_equal(parse_lock(to_json(empty), "l"), empty);
  CHECK(parse_lock(to_json(empty), "l").source.repo_type == RepoType::model);
}

TEST_CASE("keys that a later version adds are ignored") {
  check_equal(parse_lock(edited("\"release_id\"", "\"x_new\": [1.5], \"release_id\""), "l"), sample());
}

TEST_CASE("a lock that cannot be trusted is refused") {
  const std::string good = to_json(sample());
  const std::string loose = to_json(loose_sample());
  struct Row {
    const char* name;
    std::string text;
    std::vector<const char*> words;
  };
  const Row rows[] = {
      {"empty", "", {"the text ends too early"}},
      {"cut", good.substr(0, good.size() / 2), {"the text ends too early"}},
      {"trailing text", good + "x", {"text after the JSON value"}},
      {"duplicate key",
       with(good, "\"release_id\"", "\"schema\": 1, \"release_id\""),
       {"\"schema\" appears twice"}},
      {"a list", "[]", {"an object"}},
      {"no schema", "{}", {"not a restore lock", "no schema"}},
      {"foreign", with(good, "decant.lock/1", "poetry.lock/1"), {"not a restore lock", "poetry.lock/1"}},
      {"too new", with(good, "decant.lock/1", "decant.lock/2"), {"too new", "decant.lock/2", "newer decant"}},
      {"no digest", with(good, "\"digest\"", "\"d\""), {"digest", "missing"}},
      {"digest wrong", with(good, lock_digest(sample()).hex(), std::string(64, '0')), {"edited or damaged"}},
      {"one byte changed", with(good, "\"size\": 123", "\"size\": 124"), {"edited or damaged", ".decant/"}},
      {"white space added", good + "\n", {"edited or damaged"}},
      {"rewritten by a tool", with(good, "{\n  \"schema\"", "{\n    \"schema\""), {"edited or cut"}},
      {"no source", edited("\"source\"", "\"x\""), {"source", "missing"}},
      {"unknown kind", edited("\"hub\"", "\"ftp\""), {"source.kind", "hub, directory, mirror", "\"ftp\""}},
      {"unknown repo type", edited("\"dataset\"", "\"space\""), {"source.repo_type", "dataset, model"}},
      {"credentials", edited("https://", "https://user:pw@"), {"source.endpoint", "no credentials"}},
      {"hub without endpoint", edited("https://huggingface.co", ""), {"source.endpoint"}},
      {"hub without repo", edited("ORG/REPO", ""), {"source.repo"}},
      {"short commit", edited(k_commit, "abc"), {"source.commit", "40"}},
      {"release path leaves",
       edited("releases/r1\",\n", "../r1\",\n"),
       {"restore_lock.json: release_path", "../r1"}},
      {"no release path", edited("\"release_path\"", "\"x\""), {"release_path", "missing"}},
      {"unknown origin", edited("\"repo\", \"size\"", "\"web\", \"size\""), {"manifest.origin", "\"web\""}},
      {"manifest size", edited("77", "-7"), {"manifest.size", "-7"}},
      {"manifest digest", edited(std::string(64, 'e'), "e"), {"manifest.sha256"}},
      {"no parts", edited("\"parts\"", "\"x\""), {"parts", "missing"}},
      {"part path leaves", edited("NOTES.md", "../x"), {"parts[1]", "path", "../x"}},
      {"part path empty", edited("NOTES.md", ""), {"parts[1]", "path", "empty"}},
      {"part size", edited("123", "1e3"), {"parts[0].size", "1e3"}},
      {"part without digest", edited("\"git-sha1\"", "\"x\""), {"parts[1].sha256", "missing"}},
      {"git digest too long",
       edited(std::string(40, 'b'), std::string(64, 'b')),
       {"parts[1].git-sha1", "40"}},
      {"xet hash", edited(std::string(64, 'd'), "d"), {"parts[0].xet", "64"}},
      {"one name twice", edited("\"notes\"", "\"data\""), {"parts[1]", "each part once", "data twice"}},
      {"odd hex", sealed(with(loose, "78ff79", "78ff7")), {"parts[1]", "hexadecimal"}},
      {"not hex", sealed(with(loose, "78ff79", "78FF79")), {"parts[1]", "hexadecimal"}},
      {"hex that leaves", sealed(with(loose, "78ff79", "2e2e")), {"parts[1]", "path"}},
      {"path twice over",
       sealed(with(loose, "\"path_hex\"", "\"path\": \"x\", \"path_hex\"")),
       {"parts[1]", "both"}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const auto problem = test::problem_of([&] { parse_lock(row.text, "restore_lock.json"); });
    CHECK(problem.kind == ErrorKind::state);
    CHECK_FALSE(problem.hint.empty());
    CHECK_THAT(to_line(problem), Catch::StartsWith("restore_lock.json"));
    for (const char* word : row.words) CHECK_THAT(to_line(problem), Catch::Contains(word));
  }
}

TEST_CASE("the lock's digest changes with every fact in it") {
  std::set<hash::Digest> digests;
  const auto add = [&](auto change) {
    RestoreLock lock = sample();
    change(lock);
    return digests.insert(lock_digest(lock)).second;
  };
  CHECK(add([](RestoreLock&) {}));
  CHECK_FALSE(add([](RestoreLock&) {}));
  CHECK(add([](RestoreLock& lock) { lock.source.commit[0] = '0'; }));
  CHECK(add([](RestoreLock& lock) { lock.source.repo += "x"; }));
  CHECK(add([](RestoreLock& lock) { lock.parts[0].size = 1; }));
  CHECK(add([](RestoreLock& lock) { lock.parts[0].digest = sha256_of('0'); }));
  CHECK(add([](RestoreLock& lock) { lock.manifest_sha256 = sha256_of('0'); }));
  CHECK(add([](RestoreLock& lock) { lock.manifest_origin = ManifestOrigin::local; }));
  CHECK(add([](RestoreLock& lock) { lock.release_path = {}; }));
}

TEST_CASE("a loose repo's identity is its list of files, in any order") {
  std::vector<LockPart> parts = sample().parts;
  const auto identity = loose_identity(parts);
  CHECK(identity == hash::sha256("9 git-sha1 " + std::string(40, 'b') + " NOTES.md\n" + "123 sha256 " +
                                 std::string(64, 'a') + " releases/r1/data.tar.zst\n"));
  std::swap(parts[0], parts[1]);
  CHECK(loose_identity(parts) == identity);
  parts[0].size += 1;
  CHECK(loose_identity(parts) != identity);
  CHECK(loose_identity({}) == hash::sha256(std::string_view{}));
}

TEST_CASE("a commit id is 40 lower-case hexadecimal digits") {
  CHECK(is_commit_id("75bebc12b10663f450898f914f11c42a5de4d110"));
  CHECK_FALSE(is_commit_id("75BEBC12b10663f450898f914f11c42a5de4d110"));
  CHECK_FALSE(is_commit_id("75bebc1"));
  CHECK_FALSE(is_commit_id(""));
  CHECK_FALSE(is_commit_id("main"));
  CHECK_FALSE(is_commit_id(std::string(41, 'a')));
  CHECK_FALSE(is_commit_id(std::string(39, 'a') + "g"));
}

TEST_CASE("sources and repo types have fixed names") {
  CHECK(to_string(SourceKind::hub) == "hub");
  CHECK(to_string(SourceKind::directory) == "directory");
  CHECK(to_string(SourceKind::mirror) == "mirror");
  CHECK(to_string(RepoType::dataset) == "dataset");
  CHECK(to_string(RepoType::model) == "model");
}
