// SPDX-License-Identifier: Apache-2.0
#include "bad_input.hpp"

// The bad inputs of a repo and its manifest: one message each, the right exit code, and nothing written.
namespace decant::test {
namespace {

Args without_release() {
  return {"restore", std::string{World::k_repo_id}};
}

Ran restore_manifest(World& world, const std::string& text) {
  world.commit_manifest(text);
  return world.restore();
}

template <class Edit>
std::function<Ran(World&)> edited(Edit edit) {
  return [edit](World& world) {
    world.commit([&](SmallRelease& release) { edit(release.manifest, release); });
    return world.restore();
  };
}

using Json = nlohmann::ordered_json;

std::string text_with(const std::string& from, const std::string& to) {
  auto text = SmallRelease{}.manifest.dump();
  const auto at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error{"not in the manifest: " + from};
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a repo, revision or release that is not there gets its own message") {
  check_cases({
      {"no such repo",
       [](World& world) {
         return world.run({"restore", "org/nothing", "--bundle", world.bundle()});
       },
       5,
       {"org/nothing", "does not exist", "found:", "check the name and --repo-type"}},
      {"no such repo, and no token",
       [](World& world) {
         world.env.erase("HF_TOKEN");
         return world.run({"restore", "org/nothing", "--bundle", world.bundle()});
       },
       5,
       {"org/nothing", "does not exist, or it is private and no token is set", "HF_TOKEN"}},
      {"the repo is of the other type",
       [](World& world) {
         return world.restore({"--repo-type", "model"});
       },
       5,
       {"org/release", "does not exist", "--repo-type"}},
      {"no such revision",
       [](World& world) {
         return world.restore({"--revision", "v9"});
       },
       5,
       {"org/release", "has no revision v9", "found:", "--revision"}},
      {"no such commit",
       [](World& world) {
         return world.restore({"--revision", std::string(40, 'a')});
       },
       5,
       {"has no revision " + std::string(40, 'a')}},
      {"a manifest elsewhere: the nearest is named",
       [](World& world) {
         return world.run({"restore", "org/release", "--release", "releases/r2", "--bundle", world.bundle()});
       },
       5,
       {"no release there", "releases/r2/release_manifest.json", "found:", "--release releases/r1"}},
      {"no --release, and only a folder has one: all are named",
       [](World& world) {
         auto files = world.release.commit_files();
         auto more = SmallRelease{}.commit_files("old/r0");
         files.push_back(more.back());
         world.repo.add_commit(files);
         auto args = without_release();
         args.insert(args.end(), {"--bundle", world.bundle()});
         return world.run(args);
       },
       2,
       {"the repo's root holds no release_manifest.json", "2 release folders", "--release releases/r1",
        "--release old/r0"}},
      {"no manifest anywhere, and one was asked for",
       [](World& world) {
         world.repo.add_commit({{"README.md", "hi\n"}});
         return world.restore();
       },
       5,
       {"no release there", "no release manifest at all", "--loose"}},
      {"a repo without any file",
       [](World& world) {
         world.repo.add_commit({});
         return world.run({"restore", "org/release", "--bundle", world.bundle()});
       },
       5,
       {"nothing to restore", "found:"}},
      {"a repo that the hub disabled",
       [](World& world) {
         auto options = world.repo.options();
         options.disabled = true;
         world.repo.change_options(options);
         return world.restore();
       },
       5,
       {"disabled by the hub"}},
  });
}

TEST_CASE("a token that is missing, wrong or not let in gets its own message") {
  const auto gate = [](World& world) {
    auto options = world.repo.options();
    options.gated = "manual";
    world.repo.change_options(options);
  };
  check_cases({
      {"no token",
       [gate](World& world) {
         gate(world);
         world.env.erase("HF_TOKEN");
         return world.restore();
       },
       5,
       {"gated, and no token is set", "HF_TOKEN", "/datasets/org/release"}},
      {"a wrong token",
       [gate](World& world) {
         gate(world);
         world.hub.drop_token(world.token);
         return world.restore();
       },
       5,
       {"HF_TOKEN", "valid", "found:", "HTTP 401"}},
      {"not accepted",
       [gate](World& world) {
         gate(world);
         return world.restore();
       },
       5,
       {"gated, and the account of", "HF_TOKEN", "has no access yet", "HTTP 403", "/datasets/org/release"}},
      {"a fine-grained token without the right for gated repos",
       [gate](World& world) {
         gate(world);
         world.hub.drop_token(world.token);
         world.hub.add_token(world.token, TestHub::TokenKind::no_gated_repos);
         return world.restore();
       },
       5,
       {"HF_TOKEN", "fine-grained"}},
      {"a wrong token on a public repo",
       [](World& world) {
         world.hub.drop_token(world.token);
         return world.restore();
       },
       5,
       {"HF_TOKEN", "is not valid", "or remove it"}},
      {"a token with a line break in it",
       [](World& world) {
         world.env["HF_TOKEN"] = world.token + "\nAccept: x";
         return world.restore();
       },
       2,
       {"the token from HF_TOKEN", "control"}},
      {"the hub is not there",
       [](World& world) {
         world.hub.refuse(Where::hub);
         return world.restore();
       },
       4,
       {"127.0.0.1"}},
      {"the hub has a bad day",
       [](World& world) {
         world.hub.add_fault({.where = Where::hub, .times = 0, .status = 503});
         return world.restore();
       },
       4,
       {"HTTP 503", "run the same command again"}},
  });
}

TEST_CASE("a manifest that is none gets its own message") {
  check_cases({
      {"not JSON",
       [](World& world) { return restore_manifest(world, "{\"schema\": \"decant.release/1\",,}"); },
       10,
       {"releases/r1/release_manifest.json", "line 1"}},
      {"cut",
       [](World& world) {
         const auto text = world.release.manifest.dump();
         return restore_manifest(world, text.substr(0, text.size() / 2));
       },
       10,
       {"releases/r1/release_manifest.json"}},
      {"empty", [](World& world) { return restore_manifest(world, ""); }, 10, {"release_manifest.json"}},
      {"a web page",
       [](World& world) { return restore_manifest(world, "<!DOCTYPE html><html></html>"); },
       10,
       {"release_manifest.json"}},
      {"a foreign schema: the way out is named",
       [](World& world) { return restore_manifest(world, R"({"schema": "sft.release/3", "files": []})"); },
       10,
       {"sft.release/3", "decant.release/1", "--manifest"}},
      {"too new",
       [](World& world) {
         return restore_manifest(world, text_with("decant.release/1", "decant.release/2"));
       },
       10,
       {"decant.release/2", "decant.release/1"}},
      {"asks for what this version does not know",
       edited([](Json& manifest, SmallRelease&) { manifest["requires"] = {"patches"}; }),
       10,
       {"patches", "requires"}},
      {"lacks a key",
       edited([](Json&, SmallRelease& release) { release.part("data").erase("path"); }),
       10,
       {"part data: path", "expected:", "found:"}},
      {"lacks a digest",
       edited([](Json&, SmallRelease& release) { release.part("data").erase("sha256"); }),
       10,
       {"sha256"}},
      {"a path that leaves its root",
       edited([](Json&, SmallRelease& release) { release.part("notes")["place"]["as"] = "../outside.md"; }),
       10,
       {"../outside.md"}},
      {"a folder that leaves its root",
       edited([](Json&, SmallRelease& release) { release.part("data")["unpack"]["under"] = "/etc"; }),
       10,
       {"/etc"}},
      {"two parts that claim one file",
       edited([](Json& manifest, SmallRelease& release) {
         auto twin = release.part("notes");
         twin["name"] = "twin";
         manifest["parts"].push_back(twin);
       }),
       10,
       {"notes", "twin", "NOTES.md"}},
      {"two parts of one name",
       edited([](Json& manifest, SmallRelease& release) {
         auto twin = release.part("notes");
         twin["place"]["as"] = "OTHER.md";
         manifest["parts"].push_back(twin);
       }),
       10,
       {"notes"}},
      {"a negative size",
       edited([](Json&, SmallRelease& release) { release.part("data")["size"] = -1; }),
       10,
       {"size", "-1"}},
      {"a size of 2^63",
       edited([](Json&, SmallRelease& release) { release.part("data")["size"] = 9223372036854775808ULL; }),
       10,
       {"size", "9223372036854775808"}},
      {"a size that is a text",
       edited([](Json&, SmallRelease& release) { release.part("data")["size"] = "5"; }),
       10,
       {"size"}},
      {"a key that stands twice",
       [](World& world) {
         return restore_manifest(world,
                                 text_with(R"("release":{"id":"r1"})", R"("release":{"id":"r1","id":"r2"})"));
       },
       10,
       {"id", "twice"}},
      {"a name that decant keeps for itself",
       edited([](Json&, SmallRelease& release) { release.part("notes")["place"]["as"] = ".decant/x"; }),
       10,
       {".decant"}},
      {"a part that the repo does not hold",
       edited([](Json&, SmallRelease& release) { release.part("notes")["path"] = "releases/r1/GONE.md"; }),
       5,
       {"notes", "releases/r1/GONE.md", "not in the repo at this commit"}},
      {"a part of another size than the repo tells",
       edited([](Json&, SmallRelease& release) { release.part("data")["size"] = 77; }),
       8,
       {"data", "another size", "77 bytes (manifest)"}},
      {"a part of another digest than the repo tells",
       edited([](Json&, SmallRelease& release) { release.part("data")["sha256"] = std::string(64, 'b'); }),
       8,
       {"data", "another digest", std::string(64, 'b')}},
  });
}

}  // namespace decant::test
