// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <filesystem>

#include "cli_world.hpp"
#include "support/catch.hpp"

// World::run() fails the test when the token's value shows up anywhere; here are the runs that might do it.
namespace decant::test {
namespace {

void gate(World& world, bool lets_in = true) {
  auto options = world.repo.options();
  options.gated = "manual";
  if (lets_in) options.accepted_tokens = {world.token};
  world.repo.change_options(options);
}

bool was_sent(const World& world) {
  for (const auto& request : world.hub.requests())
    if (request.where == Where::hub && request.authorization == "Bearer " + world.token) return true;
  return false;
}

}  // namespace

TEST_CASE("the token is found in each of its places, used, and never seen") {
  for (const auto place : {TokenIn::variable, TokenIn::file, TokenIn::home}) {
    DYNAMIC_SECTION("place " << static_cast<int>(place)) {
      World world{place};
      gate(world);
      const auto ran = world.restore({"-v", "-v", "--report", world.dir / "report.json"});
      INFO(ran);
      CHECK(ran.code == 0);
      CHECK(was_sent(world));
      CHECK(world.is_restored());
    }
  }
}

TEST_CASE("no failure shows the token") {
  struct Failure {
    std::string name;
    std::function<void(World&)> make;
  };
  const std::vector<Failure> failures{
      {"revoked", [](World& world) { world.hub.drop_token(world.token); }},
      {"gated",
       [](World& world) {
         gate(world, false);
         world.hub.drop_token(world.token);
         world.hub.add_token(world.token, TestHub::TokenKind::no_gated_repos);
       }},
      {"an answer that echoes it",
       [](World& world) {
         world.hub.add_fault({.where = Where::hub,
                              .times = 0,
                              .status = 403,
                              .headers = {{"X-Error-Message", "bad token " + world.token}},
                              .body = "bad token " + world.token});
       }},
      {"a redirect to another origin",
       [](World& world) {
         world.hub.add_fault({.where = Where::hub,
                              .path = "release_manifest.json",
                              .times = 0,
                              .redirect_to = world.hub.cdn_origin() + "/elsewhere"});
       }},
      {"the storage refuses",
       [](World& world) { world.hub.add_fault({.where = Where::cdn, .times = 0, .status = 403}); }},
      {"the storage is cut",
       [](World& world) { world.hub.add_fault({.where = Where::cdn, .times = 0, .cut_after = 0}); }},
      {"wrong bytes",
       [](World& world) {
         world.hub.add_fault({.where = Where::cdn, .path = "data.tar.zst", .times = 0, .flip_at = 5});
       }},
      {"no hub", [](World& world) { world.hub.refuse(Where::hub); }},
      {"signed URLs that have expired",
       [](World& world) { world.hub.set_url_lifetime(std::chrono::seconds{5}, std::chrono::seconds{60}); }},
      {"not a manifest", [](World& world) { world.commit_manifest("{"); }},
      {"the disk is a file", [](World& world) { write_file(world.bundle(), "x"); }},
  };
  for (const auto place : {TokenIn::variable, TokenIn::file, TokenIn::home}) {
    for (const auto& failure : failures) {
      DYNAMIC_SECTION(failure.name << " " << static_cast<int>(place)) {
        World world{place};
        failure.make(world);
        for (const auto& flags : {Args{"-v", "-v", "--report", world.dir / "report.json"}, Args{"--json"}}) {
          const auto ran = world.restore(flags);
          INFO(ran);
          CHECK(ran.code != 0);
          CHECK(ran.code != 70);
        }
      }
    }
  }
}

TEST_CASE("a token over http to anything but loopback is refused") {
  World world;
  const auto ran = world.restore({"--endpoint", "http://hub.example"});
  INFO(ran);
  CHECK(ran.code == 2);
  CHECK(has(ran.err, {"http://hub.example", "next:"}));
  CHECK(world.requests() == 0);
}

TEST_CASE("a token file that others may read is used with a warning") {
  World world{TokenIn::file};
  gate(world);
  ::chmod(world.env["HF_TOKEN_PATH"].c_str(), 0644);
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(has(ran.err, {"chmod 600"}));
}

TEST_CASE("a variable that names no token file is said, and the public repo is restored") {
  World world{TokenIn::file};
  std::filesystem::remove(world.env["HF_TOKEN_PATH"]);
  const auto ran = world.restore();
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(has(ran.err, {"HF_TOKEN_PATH names " + world.env["HF_TOKEN_PATH"]}));
}

TEST_CASE("without any token a public repo is restored") {
  World world;
  world.env.erase("HF_TOKEN");
  CHECK(world.restore().code == 0);
  for (const auto& request : world.hub.requests()) CHECK(!request.has_authorization);
}

}  // namespace decant::test
