// SPDX-License-Identifier: Apache-2.0
#include "decant/model/manifest.hpp"
#include "model_support.hpp"

using namespace decant;
using namespace decant::model;
using test::with;

namespace {

const std::string k_sha(64, 'b');
const std::string k_part = R"({"name": "a", "path": "a.tar.zst", "size": 5, "sha256": ")" + k_sha +
                           R"(", "unpack": {"root": "bundle", "under": "u"}})";
const std::string k_place = R"({"name": "p", "path": "p.md", "size": 5, "sha256": ")" + k_sha +
                            R"(", "place": {"root": "bundle", "as": "p.md"}})";

// A manifest of the given parts; `more` follows them at the top level.
std::string manifest(const std::string& parts, const std::string& more = "") {
  return R"({"schema": "decant.release/1", "release": {"id": "r1"}, "parts": [)" + parts + "]" + more + "}";
}
std::string top(const std::string& more) {
  return manifest(k_part, ", " + more);
}
std::string part(std::string_view from, std::string_view to) {
  return manifest(with(k_part, from, to));
}
std::string place(std::string_view from, std::string_view to) {
  return manifest(with(k_place, from, to));
}
std::string tree(const std::string& members) {
  return top(R"("trees": [{"name": "t", )" + members + "}]");
}
std::string file(const std::string& members) {
  return tree(R"("external": true, "files": [{"path": "x", "sha256": ")" + k_sha + "\"}, {" + members + "}]");
}

struct Row {
  const char* name;
  std::string text;
  std::vector<const char*> words;  // all of them in the one-line message
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    INFO(row.name);
    const Problem problem = test::problem_of([&] { parse_manifest(row.text, "m.json", Completeness::full); });
    CHECK(problem.kind == ErrorKind::state);
    CHECK_FALSE(problem.hint.empty());
    const std::string line = to_line(problem);
    CHECK_THAT(line, Catch::StartsWith("m.json"));
    for (const char* word : row.words) CHECK_THAT(line, Catch::Contains(word));
  }
}

}  // namespace

TEST_CASE("the texts that the refusals start from are good") {
  CHECK_NOTHROW(parse_manifest(manifest(k_part + "," + k_place), "m.json", Completeness::full));
  CHECK_NOTHROW(parse_manifest(tree(R"("root": "bundle")"), "m.json", Completeness::full));
  CHECK_NOTHROW(
      parse_manifest(file(R"("path": "y", "sha256": ")" + k_sha + "\""), "m.json", Completeness::full));
}

TEST_CASE("a manifest that is not ours is refused") {
  const std::string good = manifest(k_part);
  check({
      {"not JSON", "<html></html>", {"line 1, column 1", "not valid JSON"}},
      {"a list", "[]", {"an object", "an empty list"}},
      {"no schema",
       "{}",
       {"not a manifest that decant knows", "decant.release/1", "no schema", "--manifest FILE"}},
      {"foreign schema",
       with(good, "decant.release/1", "other.thing/4"),
       {"\"other.thing/4\"", "--manifest FILE"}},
      {"too new",
       with(good, "decant.release/1", "decant.release/2"),
       {"too new", "expected \"decant.release/1\"", "found \"decant.release/2\"", "newer decant"}},
      {"far too new", with(good, "decant.release/1", "decant.release/18446744073709551615"), {"too new"}},
      {"no version", with(good, "decant.release/1", "decant.release/"), {"not a manifest that decant knows"}},
      {"version 0", with(good, "decant.release/1", "decant.release/0"), {"not a manifest that decant knows"}},
      {"version in words", with(good, "decant.release/1", "decant.release/two"), {"--manifest FILE"}},
      {"schema is a number", with(good, "\"decant.release/1\"", "1"), {"found 1", "--manifest FILE"}},
      {"schema with controls", with(good, "decant.release/1", "x\\u001b[2J"), {"\\x1b[2J"}},
      {"requires something",
       top(R"("requires": ["delta/1"])"),
       {"requires[0]", "\"delta/1\"", "newer decant"}},
      {"requires no list", top(R"("requires": "x")"), {"requires", "a list"}},
      {"requires a number", top(R"("requires": [1])"), {"requires[0]", "a text"}},
      {"duplicate key",
       with(good, "\"parts\"", "\"release\": {}, \"parts\""),
       {"key \"release\" appears twice"}},
  });
}

TEST_CASE("a manifest with bad parts is refused") {
  check({
      {"no release", with(manifest(k_part), "\"release\"", "\"x\""), {"release", "missing"}},
      {"release is a text",
       with(manifest(k_part), R"({"id": "r1"})", "\"r1\""),
       {"m.json: release", "an object", "\"r1\""}},
      {"no release id", with(manifest(k_part), "\"id\"", "\"x\""), {"release.id", "missing"}},
      {"empty release id", with(manifest(k_part), "\"r1\"", "\"\""), {"release.id"}},
      {"release id with controls",
       with(manifest(k_part), "\"r1\"", "\"a\\nb\""),
       {"release.id", "control characters"}},
      {"no parts", R"({"schema": "decant.release/1", "release": {"id": "r"}})", {"m.json: parts", "missing"}},
      {"parts no list",
       R"({"schema": "decant.release/1", "release": {"id": "r"}, "parts": {}})",
       {"parts", "a list"}},
      {"nothing at all", manifest(""), {"nothing to restore or prove"}},
      {"part is a text", manifest("\"a\""), {"parts[0]", "an object"}},
      {"no name", part("\"name\"", "\"x\""), {"parts[0].name", "missing"}},
      {"name with a slash", part("\"a\"", "\"a/b\""), {"parts[0].name", "A-Z", "\"a/b\""}},
      {"name empty", part("\"a\"", "\"\""), {"parts[0].name"}},
      {"name of dots", part("\"a\"", "\"..\""), {"parts[0].name", "\"..\""}},
      {"name too long", part("\"a\"", "\"" + std::string(129, 'n') + "\""), {"parts[0].name", "128"}},
      {"name is null", part("\"a\"", "null"), {"parts[0].name", "a text", "null"}},
      {"two of one name",
       manifest(k_part + "," + with(k_part, "\"u\"", "\"v\"")),
       {"part a", "the name stands twice"}},
      {"no path", part("\"path\"", "\"x\""), {"part a: path", "missing"}},
      {"path absolute", part("a.tar.zst", "/etc/passwd"), {"part a: path", "\"/etc/passwd\""}},
      {"path leaves", part("a.tar.zst", "x/../../y"), {"part a: path", "x/../../y"}},
      {"path empty", part("a.tar.zst", ""), {"part a: path", "the path of a file"}},
      {"path with NUL", part("a.tar.zst", "a\\u0000b"), {"part a: path", "\\x00"}},
      {"no size", part("\"size\"", "\"x\""), {"part a: size", "missing"}},
      {"size negative", part(": 5", ": -5"), {"part a: size", "whole number from 0", "found -5"}},
      {"size minus zero", part(": 5", ": -0"), {"part a: size", "whole number"}},
      {"size with exponent", part(": 5", ": 1e3"), {"part a: size", "found 1e3"}},
      {"size with fraction", part(": 5", ": 5.0"), {"part a: size", "found 5.0"}},
      {"size 2^63", part(": 5", ": 9223372036854775808"), {"part a: size", "9223372036854775807"}},
      {"size 2^64", part(": 5", ": 18446744073709551616"), {"part a: size", "found 18446744073709551616"}},
      {"size as text", part(": 5", ": \"5\""), {"part a: size", "found \"5\""}},
      {"size true", part(": 5", ": true"), {"part a: size", "found true"}},
      {"no sha256", part("\"sha256\"", "\"x\""), {"part a: sha256", "missing"}},
      {"sha256 short", part(k_sha, "abc"), {"part a: sha256", "64", "\"abc\""}},
      {"sha256 upper case", part(k_sha, std::string(64, 'B')), {"part a: sha256"}},
      {"neither", part("\"unpack\"", "\"x\""), {"part a", "either unpack or place", "neither"}},
      {"both", part("\"unpack\"", R"("place": {"root": "bundle", "as": "x"}, "unpack")"), {"part a", "both"}},
      {"unpack a text",
       part(R"({"root": "bundle", "under": "u"})", "\"bundle\""),
       {"part a: unpack", "an object"}},
      {"no root", part("\"root\"", "\"x\""), {"part a: unpack.root", "missing"}},
      {"root with slash", part("\"bundle\"", "\"/tmp\""), {"part a: unpack.root", "\"/tmp\""}},
      {"under leaves", part("\"u\"", "\"../u\""), {"part a: unpack.under", "../u"}},
      {"under absolute", part("\"u\"", "\"/u\""), {"part a: unpack.under"}},
      {"under reserved", part("\"u\"", "\".decant/x\""), {"part a: unpack.under", "keep for itself"}},
      {"under reserved anywhere",
       part(R"("bundle", "under": "u")", R"("tmp", "under": ".decant-1")"),
       {"keep for itself"}},
      {"entries negative", part("\"u\"", "\"u\", \"entries\": -1"), {"part a: unpack.entries"}},
      {"bytes a float", part("\"u\"", "\"u\", \"bytes\": 1.5"), {"part a: unpack.bytes", "1.5"}},
      {"window too large",
       part("\"u\"", "\"u\", \"window_log\": 32"),
       {"part a: unpack.window_log", "10 to 31", "32"}},
      {"window too small", part("\"u\"", "\"u\", \"window_log\": 9"), {"part a: unpack.window_log"}},
      {"place: no as", place("\"as\"", "\"x\""), {"part p: place.as", "missing"}},
      {"place: as empty", place("\"as\": \"p.md\"", "\"as\": \"\""), {"part p: place.as", "path of a file"}},
      {"place: as leaves", place("\"as\": \"p.md\"", "\"as\": \"../p\""), {"part p: place.as"}},
      {"place: a line break",
       place("\"as\": \"p.md\"", "\"as\": \"p\\n.md\""),
       {"part p: place.as", "control"}},
      {"unpack: a control character",
       part("\"u\"", "\"u\\u0007\""),
       {"part a: unpack", "control characters"}},
      {"place: over the lock",
       place("\"as\": \"p.md\"", "\"as\": \"restore_lock.json\""),
       {"part p: place.as", "keep for itself"}},
      {"place: into .decant",
       place("\"as\": \"p.md\"", "\"as\": \".decant/x\""),
       {"part p: place.as", "keep for itself"}},
      {"unknown links word",
       part("\"size\"", "\"links\": \"all\", \"size\""),
       {"part a: links", "allow-external", "\"all\""}},
      {"unknown accept word",
       part("\"size\"", "\"accept\": [\"dup\"], \"size\""),
       {"part a: accept[0]", "dup-identical", "\"dup\""}},
      {"accept no list",
       part("\"size\"", "\"accept\": \"non-utf8\", \"size\""),
       {"part a: accept", "a list"}},
      {"tag with a star", part("\"size\"", "\"tags\": [\"a*\"], \"size\""), {"part a: tags[0]", "\"a*\""}},
      {"index without digest",
       part("\"size\"", R"("index": {"path": "i", "size": 1}, "size")"),
       {"part a: index.sha256"}},
      {"names without path", part("\"size\"", R"("names": {}, "size")"), {"part a: names.path"}},
  });
}

TEST_CASE("two parts that claim one file are refused") {
  const std::string second = with(k_place, "\"p\"", "\"q\"");
  check({
      {"same place",
       manifest(k_place + "," + second),
       {"part q", "place.as p.md in root bundle", "part p claims it too"}},
      {"file where a file's directory is",
       manifest(k_place + "," + with(second, "\"as\": \"p.md\"", "\"as\": \"p.md/x\"")),
       {"part q", "part p makes p.md a file"}},
      {"the other way round",
       manifest(with(k_place, "\"as\": \"p.md\"", "\"as\": \"d/e/x\"") + "," +
                with(second, "\"as\": \"p.md\"", "\"as\": \"d\"")),
       {"part q", "part p needs a directory there"}},
      {"place over an unpack directory",
       manifest(k_part + "," + with(k_place, "\"as\": \"p.md\"", "\"as\": \"u\"")),
       {"part p", "part a needs a directory there"}},
      {"unpack over a placed file",
       manifest(k_place + "," + with(k_part, "\"u\"", "\"p.md\"")),
       {"part a", "part p makes it a file"}},
      {"unpack below a placed file",
       manifest(k_place + "," + with(k_part, "\"u\"", "\"p.md/u/v\"")),
       {"part a", "part p makes p.md a file"}},
  });
  CHECK_NOTHROW(
      parse_manifest(manifest(k_part + "," + with(k_part, "\"a\"", "\"b\"")), "m", Completeness::full));
  CHECK_NOTHROW(
      parse_manifest(manifest(k_part + "," + with(k_place, "\"as\": \"p.md\"", "\"as\": \"u/p.md\"")), "m",
                     Completeness::full));
  CHECK_NOTHROW(parse_manifest(manifest(k_place + "," + with(second, "\"bundle\"", "\"other\"")), "m",
                               Completeness::full));
}

TEST_CASE("a manifest with bad roots, trees, closed directories or checks is refused") {
  check({
      {"roots no list", top(R"("roots": {})"), {"m.json: roots", "a list"}},
      {"root without name", top(R"("roots": [{}])"), {"roots[0].name", "missing"}},
      {"root twice", top(R"("roots": [{"name": "a"}, {"name": "a"}])"), {"roots[1].name", "each root once"}},
      {"root named .decant", top(R"("roots": [{"name": ".decant"}])"), {".decant", "keep for itself"}},
      {"suggest a number", top(R"("roots": [{"name": "a", "suggest": 1}])"), {"root a: suggest"}},
      {"inside_bundle a text",
       top(R"("roots": [{"name": "a", "inside_bundle": "yes"}])"),
       {"root a: inside_bundle", "true or false"}},
      {"trees no list", top(R"("trees": 1)"), {"trees", "a list", "found 1"}},
      {"tree twice",
       top(R"("trees": [{"name": "t", "root": "bundle"}, {"name": "t", "root": "bundle"}])"),
       {"trees[1].name", "each tree once"}},
      {"tree without root", tree(R"("under": "x")"), {"tree t: root", "missing"}},
      {"tree in an unknown root", tree(R"("root": "runtime")"), {"tree t: root", "bundle", "\"runtime\""}},
      {"tree leaves", tree(R"("root": "bundle", "under": "..")"), {"tree t: under"}},
      {"external a number", tree(R"("external": 1)"), {"tree t: external", "true or false"}},
      {"external with nothing",
       tree(R"("external": true)"),
       {"tree t", "either files or files_list", "neither"}},
      {"external with both", tree(R"("external": true, "files": [], "files_list": {})"), {"tree t", "both"}},
      {"file without digest", file(R"("path": "y")"), {"tree t: files[1].sha256", "missing"}},
      {"file leaves", file(R"("path": "../y", "sha256": "x")"), {"tree t: files[1].path"}},
      {"file twice",
       file(R"("path": "x", "sha256": ")" + k_sha + "\""),
       {"tree t: files[1].path", "claims it too"}},
      {"file below a file",
       file(R"("path": "x/y", "sha256": ")" + k_sha + "\""),
       {"tree t: files[1].path", "makes x a file"}},
      {"file size negative",
       file(R"("path": "y", "size": -1, "sha256": ")" + k_sha + "\""),
       {"tree t: files[1].size"}},
      {"optional a text",
       file(R"("path": "y", "optional": "no", "sha256": ")" + k_sha + "\""),
       {"tree t: files[1].optional"}},
      {"from without repo", tree(R"("external": true, "files": [], "from": {})"), {"tree t: from.repo"}},
      {"from of another type",
       tree(R"("external": true, "files": [], "from": {"repo": "a/b", "repo_type": "space"})"),
       {"tree t: from.repo_type", "\"space\""}},
      {"closed in an unknown root", top(R"("closed": [{"root": "x"}])"), {"closed[0].root"}},
      {"closed leaves", top(R"("closed": [{"root": "bundle", "under": "/x"}])"), {"closed[0].under"}},
      {"check without id", top(R"("checks": [{"type": "parquet"}])"), {"checks[0].id"}},
      {"check without type", top(R"("checks": [{"id": "c"}])"), {"check c: type"}},
      {"check id twice",
       top(R"("checks": [{"id": "c", "type": "t"}, {"id": "c", "type": "t"}])"),
       {"checks[1].id", "each id once"}},
  });
}

TEST_CASE("the hint fits who can mend the manifest") {
  const std::string bad = part(": 5", ": -5");
  CHECK_THAT(test::problem_of([&] { parse_manifest(bad, "m", Completeness::full); }).hint,
             Catch::Contains("author"));
  CHECK_THAT(test::problem_of([&] { parse_manifest(bad, "m", Completeness::may_lack_digests); }).hint,
             Catch::Contains("correct the file"));
}
