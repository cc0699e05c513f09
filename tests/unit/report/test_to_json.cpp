// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <nlohmann/json.hpp>

#include "decant/report/report.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace decant;
using namespace decant::report;
using Json = nlohmann::json;

namespace {

const ReportMeta k_meta{.node = "node-\"1\"",
                        .tool_version = "0.1.0",
                        .started_utc = "2026-01-01T00:00:00Z",
                        .finished_utc = "2026-01-01T00:01:00Z"};

Result sample() {
  Result result;
  result.command = "verify";
  result.verdict = "2 findings";
  result.release_id = "r1";
  result.source = "ORG/REPO";
  result.commit = std::string(40, 'c');
  result.parts = {{.name = "data",
                   .outcome = PartOutcome::published,
                   .size = 9,
                   .bytes_from_network = 4,
                   .bytes_from_local = 5,
                   .entries = 3,
                   .written = 2,
                   .adopted = 1,
                   .source = "hub, dir:/mnt/usb",
                   .from = {{"hub", 4}, {"dir:/mnt/usb", 5}}},
                  {.name = "rt",
                   .outcome = PartOutcome::failed,
                   .problem = Problem{.kind = ErrorKind::integrity,
                                      .thing = "part rt: SHA-256 differs",
                                      .expected = "aa",
                                      .found = "bb",
                                      .hint = "run restore again"}}};
  result.conflicts = {
      {.part = "data", .root = "bundle", .path = "a\nb", .expected = "file", .found = "directory"}};
  result.findings = {{.kind = FindingKind::differs,
                      .tree = "bundle",
                      .path = "x\xFFy",
                      .part = "data",
                      .expected = "aa",
                      .found = "bb",
                      .note = "n"},
                     {.kind = FindingKind::missing, .tree = "bundle", .path = "plain/\xC3\xA9"}};
  result.notes = {{.kind = "extra", .tree = "bundle", .path = "z"}};
  result.digests = {
      {.name = "bundle", .full = false, .hex = std::string(64, '1')},
      {.name = "runtime", .full = true, .hex = std::string(64, '3'), .scope = DigestScope::tree}};
  result.bundle_digest = TreeDigest{.name = "", .full = false, .hex = std::string(64, '5')};
  result.trees["bundle"] = {.expected = 7, .hashed = 5, .size_only = 1, .bytes_hashed = 100};
  result.problems = {{.kind = ErrorKind::network, .thing = "hub"}};
  result.bytes_from_network = 4;
  result.bytes_written = 11;
  result.seconds = 1.23456;
  return result;
}

}  // namespace

TEST_CASE("the report document holds everything that was found") {
  const Json json = Json::parse(to_json(sample(), k_meta, 8));
  CHECK(json["schema"] == "decant.report/1");
  CHECK_FALSE(json.contains("event"));
  CHECK(json["command"] == "verify");
  CHECK(json["verdict"] == "2 findings");
  CHECK(json["exit_code"] == 8);
  CHECK(json["retryable"] == false);
  CHECK(json["node"] == "node-\"1\"");
  CHECK(json["seconds"] == 1.235);
  CHECK(json["counts"]["parts"] == 2);
  CHECK(json["counts"]["parts_published"] == 1);
  CHECK(json["counts"]["parts_failed"] == 1);
  CHECK(json["counts"]["parts_pending"] == 0);
  CHECK(json["counts"]["entries_written"] == 2);
  CHECK(json["counts"]["entries_adopted"] == 1);
  CHECK(json["counts"]["findings"] == 2);
  CHECK(json["counts"]["conflicts"] == 1);
  CHECK(json["findings_by_kind"] == Json{{"differs", 1}, {"missing", 1}});
  CHECK(json["bytes"] == Json{{"from_network", 4}, {"from_local", 5}, {"written", 11}, {"hashed", 100}});
  CHECK(json["bundle_digest"] == "partial:" + std::string(64, '5'));
  CHECK(json["digests"]["roots"] == Json{{"bundle", "partial:" + std::string(64, '1')}});
  CHECK(json["digests"]["trees"] == Json{{"runtime", "full:" + std::string(64, '3')}});
  CHECK(json["trees"]["bundle"]["hashed"] == 5);
  CHECK(json["parts"][1]["problem"]["kind"] == "integrity");
  CHECK(json["parts"][1]["problem"]["exit_code"] == 8);
  CHECK(json["parts"][1]["problem"]["hint"] == "run restore again");
  CHECK_FALSE(json["parts"][0].contains("problem"));
  CHECK(json["conflicts"][0]["path"] == "a\\x0ab");
  CHECK(json["conflicts"][0]["path_hex"] == "610a62");
  CHECK(json["findings"][0]["path_hex"] == "78ff79");
  CHECK(json["findings"][1]["path"] == "plain/\xC3\xA9");
  CHECK_FALSE(json["findings"][1].contains("path_hex"));
  CHECK(json["notes"].size() == 1);
  CHECK(json["problems"][0]["kind"] == "network");
}

TEST_CASE("reports are as the documented examples") {
  const Result result = sample();
  test::check_golden("formats/report.json", to_json(result, k_meta, exit_code(result)));
  std::string lines;
  for (const Finding& finding : result.findings) lines += finding_line(finding) + "\n";
  for (const Conflict& conflict : result.conflicts) lines += conflict_line(conflict) + "\n";
  for (const PartResult& part : result.parts) lines += part_line(part) + "\n";
  for (const Problem& problem : result.problems) lines += problem_line(problem) + "\n";
  lines += summary_line(result, k_meta, exit_code(result)) + "\n";
  test::check_golden("formats/events.jsonl", lines);
}

TEST_CASE("the summary line is the document without its lists") {
  const std::string line = summary_line(sample(), k_meta, 4);
  CHECK(line.find('\n') == std::string::npos);
  Json json = Json::parse(line);
  CHECK(json["event"] == "summary");
  CHECK(json["retryable"] == true);
  json.erase("event");
  Json document = Json::parse(to_json(sample(), k_meta, 4));
  for (const char* list : {"parts", "conflicts", "findings", "notes", "problems"}) document.erase(list);
  CHECK(json == document);
}

TEST_CASE("what each place brought is summed over the parts, in order of first use") {
  Result result = sample();
  result.parts[1].from = {{"dir:/mnt/usb", 6}, {"http://m", 1}};
  result.dropped_places = {"http://m"};
  const Json json = Json::parse(to_json(result, k_meta, 0));
  REQUIRE(json["from"].size() == 3);
  CHECK(json["from"][1]["place"] == "dir:/mnt/usb");
  CHECK(json["from"][1]["bytes"] == 11);
  CHECK(json["from"][2]["place"] == "http://m");
  CHECK(json["dropped_places"] == Json{"http://m"});
  CHECK_FALSE(Json::parse(to_json(sample(), k_meta, 0)).contains("dropped_places"));
}

TEST_CASE("an empty result is a good document") {
  Result result;
  result.seconds = std::numeric_limits<double>::quiet_NaN();
  const Json json = Json::parse(to_json(result, {}, 0));
  CHECK(json["findings"].empty());
  CHECK(json["seconds"] == 0.0);
  CHECK_FALSE(json.contains("bundle_digest"));
}

TEST_CASE("each item has a JSON line with its event") {
  const Result result = sample();
  const auto check = [](const std::string& line, const char* event) {
    CHECK(line.find('\n') == std::string::npos);
    const Json json = Json::parse(line);
    CHECK(json["event"] == event);
    return json;
  };
  CHECK(check(finding_line(result.findings[0]), "finding")["kind"] == "differs");
  CHECK(check(conflict_line(result.conflicts[0]), "conflict")["root"] == "bundle");
  CHECK(check(part_line(result.parts[1]), "part")["outcome"] == "failed");
  CHECK(check(problem_line(result.problems[0]), "problem")["exit_code"] == 4);
}
