// SPDX-License-Identifier: Apache-2.0
// What the program asks of the kernel, as strace sees it: commands that only look change nothing, a restore
// that has nothing to do connects to nobody, and the token goes nowhere but to the hub.
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "runs.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace decant;
using namespace decant::test;

namespace {

constexpr const char* k_token = "hf_VeryPrivateTokenOfThisTest";

struct Call {
  std::string name;
  std::string arguments;
};

struct Trace {
  Outcome outcome;
  std::vector<Call> calls;
};

bool can_trace() {
  if (!std::string_view{DECANT_SANITIZED}.empty()) {
    WARN("skipped: sanitizers make calls of their own");
    return false;
  }
  if (std::system("strace -o /dev/null true 2>/dev/null") != 0) {  // NOLINT(cert-env33-c): a fixed line
    WARN("skipped: strace is missing or may not trace");
    return false;
  }
  return true;
}

Trace trace(const TempDir& dir, const std::vector<std::string>& line, const Environment& environment = {}) {
  const auto log = dir / "trace";
  Trace out;
  out.outcome = Program{line, environment, {"strace", "-f", "-qq", "-s", "8192", "-o", log}}.wait();
  const std::regex form{R"(^\d+ +(\w+)\((.*)$)"};
  std::istringstream in{read_file(log)};
  for (std::string text; std::getline(in, text);)
    if (std::smatch match; std::regex_match(text, match, form)) out.calls.push_back({match[1], match[2]});
  REQUIRE(out.calls.size() > 100);
  return out;
}

// Calls that change a file system.
std::vector<std::string> changes(const Trace& trace) {
  static const std::set<std::string> k_changing{
      "creat",     "mkdir",   "mkdirat",   "mknod",           "mknodat",   "rename",    "renameat",
      "renameat2", "unlink",  "unlinkat",  "rmdir",           "link",      "linkat",    "symlink",
      "symlinkat", "chmod",   "fchmod",    "fchmodat",        "chown",     "fchown",    "lchown",
      "fchownat",  "utime",   "utimes",    "futimesat",       "utimensat", "truncate",  "ftruncate",
      "pwrite64",  "pwritev", "fallocate", "copy_file_range", "setxattr",  "lsetxattr", "fsetxattr",
      "mount",     "fsync",   "fdatasync", "syncfs"};
  std::vector<std::string> found;
  for (const auto& call : trace.calls) {
    if (k_changing.contains(call.name)) found.push_back(call.name + "(" + call.arguments);
    if (!call.name.starts_with("open")) continue;
    const bool device = call.arguments.find("\"/dev/null\"") != std::string::npos ||
                        call.arguments.find("\"/dev/tty\"") != std::string::npos;
    for (const char* flag : {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_TMPFILE"})
      if (!device && call.arguments.find(flag) != std::string::npos) {
        found.push_back(call.name + "(" + call.arguments);
        break;
      }
  }
  return found;
}

std::vector<std::string> connections(const Trace& trace) {
  std::vector<std::string> found;
  for (const auto& call : trace.calls)
    if (call.name == "connect" || call.name == "sendto" || call.name == "sendmsg")
      found.push_back(call.name + "(" + call.arguments);
  return found;
}

// Writes to anything but stdout and stderr.
std::vector<std::string> other_writes(const Trace& trace) {
  std::vector<std::string> found;
  for (const auto& call : trace.calls)
    if ((call.name == "write" || call.name == "writev") && !call.arguments.starts_with("1,") &&
        !call.arguments.starts_with("2,"))
      found.push_back(call.name + "(" + call.arguments);
  return found;
}

std::vector<std::string> children(const Trace& trace) {
  std::vector<std::string> found;
  std::size_t programs = 0;
  for (const auto& call : trace.calls) {
    if (call.name == "execve" || call.name == "execveat") ++programs;
    const bool forks = call.name == "fork" || call.name == "vfork" ||
                       ((call.name == "clone" || call.name == "clone3") &&
                        call.arguments.find("CLONE_THREAD") == std::string::npos &&
                        call.arguments.find("resumed") == std::string::npos);
    if (forks) found.push_back(call.name + "(" + call.arguments);
  }
  if (programs != 1) found.push_back(std::to_string(programs) + " programs");
  return found;
}

const std::vector<std::string> k_none;

struct Scene {
  Scene() {
    work_in_memory();
    hub.add_token(k_token);
    hub.add_repo({.id = "org/small", .gated = "auto", .accepted_tokens = {k_token}})
        .add_commit(repo_files(small.parts));
  }
  SmallRelease small;
  TestHub hub;
  World world{true};
  TempDir aside;  // for the logs
  const Environment token{{"HF_TOKEN", k_token}};
};

}  // namespace

TEST_CASE("a plan changes nothing anywhere and starts no other program") {
  if (!can_trace()) return;
  Scene scene;
  auto line = scene.world.restore_small(scene.hub.endpoint());
  SECTION("plan") {
    line.front() = "plan";
  }
  SECTION("restore --plan-only") {
    line.emplace_back("--plan-only");
  }
  const auto before = snapshot(scene.world.root());
  const auto traced = trace(scene.aside, line, scene.token);
  INFO(traced.outcome.all());
  CHECK(traced.outcome.code == 0);
  CHECK(changes(traced) == k_none);
  CHECK(children(traced) == k_none);
  CHECK(snapshot(scene.world.root()) == before);
}

TEST_CASE("a plan for a bundle that is not there makes no directory") {
  if (!can_trace()) return;
  Scene scene;
  const World empty;
  const auto traced =
      trace(scene.aside, empty.restore_small(scene.hub.endpoint(), {"--plan-only"}), scene.token);
  INFO(traced.outcome.all());
  CHECK(traced.outcome.code == 0);
  CHECK(changes(traced) == k_none);
  CHECK_FALSE(exists(empty.bundle()));
}

TEST_CASE("a complete bundle is looked at, not touched") {
  if (!can_trace()) return;
  Scene scene;
  const auto first = run_program(scene.world.restore_small(scene.hub.endpoint()), scene.token);
  INFO(first.all());
  REQUIRE(first.code == 0);
  std::vector<std::string> line;
  SECTION("a second restore") {
    line = scene.world.restore_small(scene.hub.endpoint());
  }
  SECTION("verify") {
    line = scene.world.verify();
  }
  SECTION("status") {
    line = {"status", "--bundle", scene.world.bundle()};
  }
  SECTION("plan") {
    line = scene.world.restore_small(scene.hub.endpoint(), {"--plan-only"});
  }
  const auto before = snapshot(scene.world.root());
  scene.hub.clear_log();
  const auto traced = trace(scene.aside, line, scene.token);
  INFO(traced.outcome.all());
  CHECK(traced.outcome.code == 0);
  CHECK(changes(traced) == k_none);
  CHECK(connections(traced) == k_none);
  CHECK(other_writes(traced) == k_none);
  CHECK(children(traced) == k_none);
  CHECK(snapshot(scene.world.root()) == before);
  CHECK(scene.hub.requests().empty());
}

TEST_CASE("the token goes to the hub and nowhere else") {
  if (!can_trace()) return;
  Scene scene;
  const auto report = scene.aside / "report.json";
  const auto traced =
      trace(scene.aside, scene.world.restore_small(scene.hub.endpoint(), {"-v", "-v", "--report", report}),
            scene.token);
  INFO(traced.outcome.all());
  REQUIRE(traced.outcome.code == 0);
  CHECK(traced.outcome.all().find(k_token) == std::string::npos);
  CHECK(read_file(report).find(k_token) == std::string::npos);
  for (const auto& [path, what] : snapshot(scene.world.root()))
    if (what.starts_with("file")) CHECK(read_file(scene.world.path(path)).find(k_token) == std::string::npos);
  std::size_t sent = 0;
  for (const auto& call : traced.calls) {
    if (call.arguments.find(k_token) == std::string::npos) continue;
    ++sent;
    CHECK(call.name == "sendto");
  }
  CHECK(sent > 0);
  CHECK(children(traced) == k_none);
  for (const auto& request : scene.hub.requests())
    CHECK(request.has_authorization == (request.where == Where::hub));
}

TEST_CASE("calls that a signal interrupts are made again") {
  if (!can_trace()) return;
  Scene scene;
  const auto outcome =
      Program{scene.world.restore_small(scene.hub.endpoint()),
              scene.token,
              {"strace", "-f", "-qq", "-o", "/dev/null", "-e",
               "inject=pwrite64,ftruncate,fchmod,fsync,fdatasync,syncfs,mkdirat,symlinkat,linkat,unlinkat,"
               "renameat,renameat2,utimensat:error=EINTR:when=1+2"}}
          .wait();
  INFO(outcome.all());
  CHECK(outcome.code == 0);
  CHECK(scene.world.tree() == scene.world.wanted(scene.small.bundle, scene.small.runtime));
}
