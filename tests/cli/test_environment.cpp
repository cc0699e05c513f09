// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <filesystem>
#include <regex>
#include <set>

#include "cli_world.hpp"
#include "support/catch.hpp"

// What users of the Hugging Face client have set already, and which of two settings wins.
namespace decant::test {
namespace {

void gate(World& world) {
  auto options = world.repo.options();
  options.gated = "manual";
  options.accepted_tokens = {world.token};
  world.repo.change_options(options);
}

std::uint64_t with_authorization(const World& world) {
  std::uint64_t count = 0;
  for (const auto& request : world.hub.requests()) count += request.has_authorization ? 1 : 0;
  return count;
}

std::set<std::string> found(const std::string& text, const std::regex& form) {
  std::set<std::string> words;
  for (std::sregex_iterator it{text.begin(), text.end(), form}, end; it != end; ++it) words.insert((*it)[1]);
  return words;
}

std::string named(const std::set<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += word + " ";
  return text;
}

}  // namespace

TEST_CASE("the first place that holds a token decides, as in the official client") {
  World world{TokenIn::home};
  gate(world);
  SECTION("HF_TOKEN before the file, even when it is wrong") {
    world.env["HF_TOKEN"] = "hf_wrong";
    const auto ran = world.plan();
    INFO(ran);
    CHECK(ran.code == 5);
    CHECK(has(ran, {"the token from HF_TOKEN"}));
    CHECK(ran.all().find("hf_wrong") == std::string::npos);
  }
  SECTION("HF_TOKEN before its old name") {
    world.env["HF_TOKEN"] = world.token;
    world.env["HUGGING_FACE_HUB_TOKEN"] = "hf_wrong";
    CHECK(world.plan().code == 0);
  }
  SECTION("the old name before the file") {
    world.env["HUGGING_FACE_HUB_TOKEN"] = "hf_wrong";
    const auto ran = world.plan();
    CHECK(ran.code == 5);
    CHECK(has(ran, {"the token from HUGGING_FACE_HUB_TOKEN"}));
  }
  SECTION("HF_TOKEN_PATH in place of HF_HOME") {
    const auto path = world.dir / "other_token";
    write_file(path, "hf_wrong\n");
    ::chmod(path.c_str(), 0600);
    world.env["HF_TOKEN_PATH"] = path;
    const auto ran = world.plan();
    CHECK(ran.code == 5);
    CHECK(has(ran, {"the token from the file HF_TOKEN_PATH names (" + path + ")"}));
  }
  SECTION("HF_HOME, which error messages name") {
    world.hub.drop_token(world.token);
    const auto ran = world.plan();
    CHECK(ran.code == 5);
    CHECK(has(ran, {"the token from HF_HOME/token (" + world.env["HF_HOME"] + "/token)"}));
  }
  SECTION("variables inside a path") {
    world.env["PLACE"] = world.env["HF_HOME"];
    world.env["HF_HOME"] = "${PLACE}";
    CHECK(world.plan().code == 0);
    world.env["HF_TOKEN_PATH"] = "$PLACE/token";
    CHECK(world.plan().code == 0);
  }
  SECTION("an empty HF_TOKEN is none") {
    world.env["HF_TOKEN"] = "";
    CHECK(world.plan().code == 0);
  }
}

TEST_CASE("HF_HUB_DISABLE_IMPLICIT_TOKEN keeps every token at home, and says so") {
  for (const auto place : {TokenIn::variable, TokenIn::home}) {
    World world{place};
    world.env["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "yes";
    const auto ran = world.plan();
    INFO(ran);
    CHECK(ran.code == 0);
    CHECK(with_authorization(world) == 0);
    CHECK(has(ran.err, {"HF_HUB_DISABLE_IMPLICIT_TOKEN is set: the token from HF_", "is not used"}));
    world.env["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "0";
    CHECK(world.plan().code == 0);
    CHECK(with_authorization(world) > 0);
  }
}

TEST_CASE("HF_OIDC_RESOURCE is said not to be supported") {
  World world;
  world.env["HF_OIDC_RESOURCE"] = "x";
  const auto ran = world.plan();
  CHECK(ran.code == 0);
  CHECK(has(ran.err, {"HF_OIDC_RESOURCE"}));
}

TEST_CASE("the endpoint is the flag's, else DECANT_ENDPOINT, else HF_ENDPOINT") {
  World world;
  const std::string nowhere = "http://127.0.0.1:1";
  const std::string here = world.hub.endpoint() + "/";
  struct Row {
    std::string flag;
    std::string decant;
    std::string hf;
  };
  for (const auto& row : {Row{here, nowhere, nowhere}, Row{"", here, nowhere}, Row{"", "", here}}) {
    INFO(row.flag << " " << row.decant << " " << row.hf);
    world.env["DECANT_ENDPOINT"] = row.decant;
    world.env["HF_ENDPOINT"] = row.hf;
    CHECK(world.plan(row.flag.empty() ? Args{} : Args{"--endpoint", row.flag}).code == 0);
  }
}

TEST_CASE("HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE are --offline, unless decant's own say else") {
  struct Row {
    std::string hf;
    std::string transformers;
    std::string own;
    Args flags;
    bool offline;
    std::string named;
  };
  const std::vector<Row> rows{
      {"1", "", "", {}, true, "HF_HUB_OFFLINE is set"},
      {"True", "", "", {}, true, "HF_HUB_OFFLINE is set"},
      {"0", "", "", {}, false, ""},
      {"maybe", "", "", {}, false, ""},
      {"", "1", "", {}, true, "TRANSFORMERS_OFFLINE is set"},
      {"0", "1", "", {}, false, ""},
      {"1", "", "0", {}, false, ""},
      {"1", "", "false", {}, false, ""},
      {"", "", "1", {}, true, ""},
      {"0", "", "on", {}, true, ""},
      {"0", "0", "0", {"--offline"}, true, ""},
  };
  World world;
  for (const auto& row : rows) {
    INFO(row.hf << " " << row.transformers << " " << row.own << " " << row.flags.size());
    world.env["HF_HUB_OFFLINE"] = row.hf;
    world.env["TRANSFORMERS_OFFLINE"] = row.transformers;
    world.env["DECANT_OFFLINE"] = row.own;
    world.hub.clear_log();
    const auto ran = world.plan(row.flags);
    INFO(ran);
    CHECK((world.requests() == 0) == row.offline);
    CHECK((ran.code == 0) == !row.offline);
    CHECK(has(ran.err, {row.named}));
  }
}

TEST_CASE("HF_HUB_OFFLINE restores from the cache that fetch filled, and forbids fetch itself") {
  World world;
  CHECK(world.fetch().code == 0);
  world.hub.clear_log();
  world.env["HF_HUB_OFFLINE"] = "1";
  const auto fetched = world.fetch();
  INFO(fetched);
  CHECK(fetched.code == 2);
  CHECK(has(fetched.err, {"HF_HUB_OFFLINE is set", "DECANT_OFFLINE=0"}));
  const auto ran = world.restore({"--download-cache", world.cache(), "--revision", world.first_commit});
  INFO(ran);
  CHECK(ran.code == 0);
  CHECK(world.is_restored());
  CHECK(world.requests() == 0);
  world.env["DECANT_OFFLINE"] = "0";
  CHECK(world.fetch().code == 0);
}

TEST_CASE("a time that cannot be read is a usage error, unless a flag makes it needless") {
  for (const std::string name : {"HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT"}) {
    for (const std::string value : {"abc", "0", "-5", "1.5", "10s", "99999999999"}) {
      World world;
      world.env[name] = value;
      const auto ran = world.plan();
      INFO(name << "=" << value << "\n" << ran);
      CHECK(ran.code == 2);
      CHECK(has(ran.err, {name, value, "whole seconds", "next:"}));
      CHECK(world.requests() == 0);
    }
  }
  World world;
  world.env["HF_HUB_DOWNLOAD_TIMEOUT"] = "abc";
  CHECK(world.plan({"--stall-timeout", "20s"}).code == 0);
  world.env["DECANT_STALL_TIMEOUT"] = "20s";
  CHECK(world.plan().code == 0);
  world.env = {{"HF_ENDPOINT", world.hub.endpoint()},
               {"HF_HUB_DOWNLOAD_TIMEOUT", " 20 "},
               {"HF_HUB_ETAG_TIMEOUT", "20"}};
  CHECK(world.plan().code == 0);
}

TEST_CASE("docs/environment.md names every variable that the sources read, and no other") {
  std::set<std::string> read;
  const std::regex asked{"env\\(\"([A-Z][A-Z0-9_]*)\"\\)"};
  const std::regex literal{
      "\"((?:DECANT|HF|HUGGING_?FACE|MODELSCOPE|TRANSFORMERS|SSL_CERT|REQUESTS|CURL|XDG)_[A-Z0-9_]+)\""};
  for (const auto& entry : std::filesystem::recursive_directory_iterator{DECANT_SOURCES}) {
    if (entry.path().extension() != ".cpp") continue;
    const auto text = read_file(entry.path().string());
    read.merge(found(text, asked));
    read.merge(found(text, literal));
  }
  read.erase("DECANT_VERSION");  // a macro
  const auto page = read_file(std::string{DECANT_DOCS} + "/environment.md");
  const auto listed = found(page, std::regex{"\n\\| `([A-Z][A-Z0-9_]*)` \\|"});
  CHECK(read.size() > 25);
  CHECK(named(listed) == named(read));
}

}  // namespace decant::test
