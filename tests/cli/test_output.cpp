// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <set>

#include "cli_world.hpp"
#include "support/catch.hpp"

// What a script sees: JSON lines, the report, streams that are no terminal or closed.
namespace decant::test {
namespace {

namespace stdfs = std::filesystem;

const std::set<std::string> k_summary_keys{
    "event",       "schema",   "command",    "verdict",    "exit_code", "retryable",   "node",
    "started",     "finished", "seconds",    "release_id", "source",    "commit",      "manifest_sha256",
    "lock_digest", "subset",   "stopped_by", "counts",     "bytes",     "tool_version"};

nlohmann::json check_json(const Ran& ran, const std::string& command) {
  INFO(ran);
  const auto lines = json_lines(ran.out);
  REQUIRE(!lines.empty());
  for (const auto& line : lines) CHECK(line.contains("event"));
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) CHECK(lines[i]["event"] != "summary");
  auto summary = lines.back();
  CHECK(summary["event"] == "summary");
  CHECK(summary["schema"] == "decant.report/1");
  CHECK(summary["command"] == command);
  CHECK(summary["exit_code"] == ran.code);
  for (const auto& key : k_summary_keys) CHECK(has(summary.dump(), {"\"" + key + "\""}));
  return summary;
}

}  // namespace

TEST_CASE("with --json: every line parses, and the last is the summary, of each command") {
  World world;
  check_json(world.plan({"--json"}), "plan");
  check_json(world.restore({"--plan-only", "--json"}), "plan");
  const auto restored = check_json(world.restore({"--json", "--node", "node7"}), "restore");
  CHECK(restored["node"] == "node7");
  CHECK(restored["counts"]["parts_published"] == 5);
  CHECK(restored["commit"] == world.first_commit);
  CHECK(restored["bytes"]["from_network"] > 300'000);
  check_json(world.restore({"--json"}), "restore");
  check_json(world.fetch({"--json"}), "fetch");
  check_json(world.status({"--json"}), "status");
  const auto verified = check_json(world.verify({"--json", "--hash-media"}), "verify");
  CHECK(verified["bundle_digest"].get<std::string>().starts_with("full:"));

  write_file(world.bundle() + "/NOTES.md", "x");
  const auto found = check_json(world.verify({"--json"}), "verify");
  CHECK(found["counts"]["findings"] == 1);
  CHECK(found["retryable"] == false);
}

TEST_CASE("with --json of a failure is a problem line and a summary, for usage too") {
  World world;
  const auto usage = world.restore({"--json", "--memory", "lots"});
  CHECK(check_json(usage, "restore")["exit_code"] == 2);
  const auto access = world.restore({"--json", "--revision", "v9"});
  check_json(access, "restore");
  bool has_problem = false;
  for (const auto& line : json_lines(access.out))
    if (line["event"] == "problem") {
      has_problem = true;
      CHECK(line["kind"] == "access");
      CHECK(line.contains("thing"));
      CHECK(line.contains("hint"));
    }
  CHECK(has_problem);
  world.hub.refuse(Where::hub);
  const auto network = world.restore({"--json"});
  CHECK(check_json(network, "restore")["retryable"] == true);
}

TEST_CASE("with --progress json: every line on stdout and stderr parses") {
  World world;
  const auto ran = world.restore({"--json", "--progress", "json"});
  INFO(ran);
  REQUIRE(ran.code == 0);
  json_lines(ran.out);
  json_lines(ran.err);
}

TEST_CASE("with --report is written on success, on failure, and never half") {
  World world;
  const auto path = world.dir / "reports/node.json";
  stdfs::create_directories(world.dir / "reports");
  const auto check = [&](const Ran& ran) {
    INFO(ran);
    const auto report = nlohmann::json::parse(read_file(path));
    CHECK(report["schema"] == "decant.report/1");
    CHECK(report["exit_code"] == ran.code);
    CHECK(tree_of(world.dir / "reports").size() == 1);
    stdfs::remove(path);
    return report;
  };
  CHECK(check(world.restore({"--report", path, "--revision", "v9"}))["exit_code"] == 5);
  CHECK(check(world.restore({"--report", path, "--memory", "lots"}))["exit_code"] == 2);
  CHECK(check(world.plan({"--report", path}))["command"] == "plan");
  const auto done = check(world.restore({"--report", path}));
  CHECK(done["parts"].size() == 5);
  write_file(world.bundle() + "/NOTES.md", "x");
  world.env["DECANT_REPORT"] = path;
  const auto findings = check(world.verify());
  CHECK(findings["findings"].size() == 1);
  CHECK(findings["findings"][0]["path"] == "NOTES.md");
}

TEST_CASE("a report that cannot be written fails before any work") {
  World world;
  world.forbid_writes();
  for (const auto& path : {world.dir / "nothing/report.json", world.dir / "model"}) {
    const auto ran = world.restore({"--report", path});
    INFO(ran);
    CHECK(ran.code == 6);
    CHECK(has(ran.err, {path, "report"}));
    CHECK(world.requests() == 0);
  }
}

TEST_CASE("a closed stdout does not end a restore") {
  World world;
  world.standard_output = Stdout::closed;
  for (const auto& flags : {Args{}, Args{"--json"}}) {
    const auto ran = world.restore(flags);
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(world.is_restored());
  }
}

TEST_CASE("a result that the disk of stdout has no space for is no success, a restore still is one") {
  World world;
  world.standard_output = Stdout::full;
  for (const auto& [ran, code] : {std::pair{world.plan(), 6},
                                  {world.restore(), 0},
                                  {world.verify(), 6},
                                  {world.verify({"--json"}), 6},
                                  {world.status(), 6}}) {
    INFO(ran);
    CHECK(ran.code == code);
    CHECK(has(ran.err, {"standard output cannot be written", "next:"}));
  }
  CHECK(world.is_restored());
}

TEST_CASE("without a terminal there are plain lines or none") {
  World world;
  SECTION("none") {
    const auto ran = world.restore({"--progress", "none"});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(ran.err == "main is commit " + world.first_commit + "; it is pinned in restore_lock.json\n");
  }
  SECTION("plain") {
    const auto ran = world.restore({"--progress", "plain"});
    INFO(ran);
    CHECK(ran.code == 0);
  }
  SECTION("quiet") {
    const auto ran = world.restore({"-q"});
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(ran.err.empty());
  }
  SECTION("color always") {
    world.env["NO_COLOR"] = "1";
    CHECK(world.restore({"--color", "auto"}).code == 0);
  }
}

TEST_CASE("one failure is told once") {
  World world;
  const auto ran = world.restore({"--revision", "v9"});
  INFO(ran);
  const auto text = ran.all();
  const auto first = text.find("has no revision");
  REQUIRE(first != std::string::npos);
  CHECK(text.find("has no revision", first + 1) == std::string::npos);
}

TEST_CASE("verify: levels, findings, and the same digest on every node") {
  World world;
  REQUIRE(world.restore().code == 0);
  world.forbid_writes();
  world.hub.clear_log();
  const auto standard = world.verify();
  INFO(standard);
  CHECK(standard.code == 0);
  CHECK(has(standard.out, {"6 media files by size only", "partial:"}));
  const auto quick = world.verify({"--quick"});
  CHECK(quick.code == 0);
  CHECK(has(quick.out, {"structure: not checked"}));
  const auto full = world.verify({"--hash-media"});
  CHECK(full.code == 0);
  CHECK(has(full.out, {"verified, every byte hashed", "full:"}));
  const auto no_model = world.run({"verify", "--bundle", world.bundle()});
  INFO(no_model);
  CHECK(no_model.code == 1);
  CHECK(has(no_model.out, {"base-model"}));
  CHECK(world.run({"verify", "--bundle", world.bundle(), "--skip", "base-model"}).code == 0);
  CHECK(world.requests() == 0);
  world.forbid_writes(false);

  const auto other = world.dir / "node2";
  auto args = world.release_args("restore");
  args.insert(args.end(), {"--bundle", other, "--runtime-root", world.dir / "rt2"});
  REQUIRE(world.run(args).code == 0);
  const auto second = world.run({"verify", "--bundle", other, "--base-model", world.model(), "--hash-media"});
  const auto digest = [](const std::string& text) {
    const auto at = text.find("Compare on every node: ");
    REQUIRE(at != std::string::npos);
    return text.substr(at, text.find('\n', at) - at);
  };
  CHECK(digest(full.out) == digest(second.out));

  auto bytes = read_file(world.bundle() + "/media/sft/images/1_1.jpg");
  bytes[7] = static_cast<char>(bytes[7] ^ 1);
  write_file(world.bundle() + "/media/sft/images/1_1.jpg", bytes);
  CHECK(world.verify().code == 0);  // by size only, and it says so
  const auto flipped = world.verify({"--hash-media"});
  INFO(flipped);
  CHECK(flipped.code == 1);
  CHECK(has(flipped.out, {"differs", "media/sft/images/1_1.jpg", "images_001"}));
}

TEST_CASE("verify before the restore has ended is not complete") {
  World world;
  world.hub.add_fault({.where = Where::cdn, .path = "runtime.tar.zst", .times = 0, .status = 500});
  REQUIRE(world.restore().code == 4);
  const auto ran = world.verify();
  INFO(ran);
  CHECK(ran.code == 3);
  CHECK(has(ran, {"not finished", "decant restore"}));
}

}  // namespace decant::test
