// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/test_hub.hpp"
#include "unit/test_hub/raw_client.hpp"

using namespace decant::test;

namespace {

RawClient::Headers bearer(const std::string& token) {
  return token.empty() ? RawClient::Headers{} : RawClient::Headers{{"Authorization", "Bearer " + token}};
}

std::string location_of(TestHub& hub) {
  return RawClient::get(hub.endpoint() + "/datasets/org/name/resolve/main/big").header("Location");
}

}  // namespace

TEST_CASE("who may read what, and what the hub says otherwise") {
  TestHub hub;
  hub.add_token("hf_stranger");
  hub.add_token("hf_narrow", TestHub::TokenKind::no_gated_repos);
  for (const auto& options : std::vector<RepoOptions>{{.id = "org/public"},
                                                      {.id = "org/gated", .gated = "auto"},
                                                      {.id = "org/private", .is_private = true},
                                                      {.id = "org/disabled", .disabled = true}}) {
    RepoOptions with_token = options;
    with_token.accepted_tokens = {"hf_friend"};
    hub.add_repo(with_token).add_commit({{"file", "content"}});
  }
  struct Row {
    std::string repo;
    std::string token;
    int status;
    std::string code;
    std::string words;
  };
  const std::vector<Row> rows{
      {"public", "", 200, "", ""},
      {"public", "hf_stranger", 200, "", ""},
      {"public", "hf_typo", 401, "", "Invalid credentials in Authorization header"},
      {"gated", "", 401, "GatedRepo", "Please log in"},
      {"gated", "hf_stranger", 403, "GatedRepo", "not in the authorized list"},
      {"gated", "hf_narrow", 403, "", "fine-grained token"},
      {"gated", "hf_friend", 200, "", ""},
      {"private", "", 401, "RepoNotFound", "Invalid username or password"},
      {"private", "hf_stranger", 404, "RepoNotFound", "Repository not found"},
      {"private", "hf_friend", 200, "", ""},
      {"missing", "", 401, "RepoNotFound", "Invalid username or password"},
      {"missing", "hf_friend", 404, "RepoNotFound", "Repository not found"},
      {"disabled", "hf_friend", 403, "", "disabled"},
  };
  for (const Row& row : rows) {
    INFO(row.repo << " " << row.token);
    for (const char* path : {"/datasets/org/%/resolve/main/file", "/api/datasets/org/%/auth-check"}) {
      std::string url = hub.endpoint() + path;
      url.replace(url.find('%'), 1, row.repo);
      const auto answer = RawClient::get(url, bearer(row.token));
      CHECK(answer.status == row.status);
      CHECK(answer.header("X-Error-Code") == row.code);
      CHECK(answer.header("X-Error-Message").find(row.words) != std::string::npos);
      if (row.status != 200) CHECK(answer.body.starts_with("{\"error\":\""));
    }
  }
  CHECK(RawClient::get(hub.endpoint() + "/api/datasets/org/gated").status == 200);
  CHECK(RawClient::get(hub.endpoint() + "/api/datasets/org/gated/tree/main").status == 200);
  const auto absent = RawClient::get(hub.endpoint() + "/datasets/org/public/resolve/main/absent");
  CHECK(absent.header("X-Error-Code") == "EntryNotFound");
  CHECK_FALSE(absent.header("X-Repo-Commit").empty());
  hub.drop_token("hf_friend");
  CHECK(RawClient::get(hub.endpoint() + "/api/datasets/org/public", bearer("hf_friend")).status == 401);
}

TEST_CASE("signed URLs end") {
  TestHub hub;
  hub.add_repo({.id = "org/name"}).add_commit({{"big", Content::generated(1, 1000), Store::lfs}});
  const std::string url = location_of(hub);
  REQUIRE(RawClient::get(url).status == 200);

  SECTION("with time") {
    hub.advance_clock(std::chrono::seconds{3599});
    CHECK(RawClient::get(url).status == 200);
    hub.advance_clock(std::chrono::seconds{2});
  }
  SECTION("at once") {
    hub.expire_urls();
  }
  const auto answer = RawClient::get(url);
  CHECK(answer.status == 403);
  CHECK(answer.body.find("<Code>AccessDenied</Code>") != std::string::npos);
  CHECK(RawClient::get(location_of(hub)).status == 200);
}

TEST_CASE("a URL may be old when it is handed out") {
  TestHub hub;
  hub.add_repo({.id = "org/name"}).add_commit({{"big", Content::generated(1, 1000), Store::lfs}});
  hub.set_url_lifetime(std::chrono::seconds{60}, std::chrono::seconds{60});
  CHECK(RawClient::get(location_of(hub)).status == 403);
}

TEST_CASE("a changed signed URL is refused") {
  TestHub hub;
  hub.add_repo({.id = "org/name"}).add_commit({{"big", Content::generated(1, 1000), Store::lfs}});
  std::string url = location_of(hub);
  url.replace(url.find("Expires=") + 8, 1, "9");
  CHECK(RawClient::get(url).status == 403);
}

TEST_CASE("the CDN refuses huge objects without a range") {
  TestHub hub;
  hub.add_repo({.id = "org/name"}).add_commit({{"big", Content::generated(1, 1001), Store::lfs}});
  hub.set_max_unranged(1000);
  CHECK(RawClient::get(location_of(hub)).status == 400);
  CHECK(RawClient::get(location_of(hub), {{"Range", "bytes=0-9"}}).status == 206);
}

TEST_CASE("an exhausted quota is 429 until the window ends") {
  TestHub hub;
  hub.add_repo({.id = "org/name"}).add_commit({{"file", "x"}});
  hub.set_quota(1, 2);
  const std::string api = hub.endpoint() + "/api/datasets/org/name";
  CHECK(RawClient::get(api).status == 200);
  const auto refused = RawClient::get(api);
  CHECK(refused.status == 429);
  CHECK(refused.header("RateLimit").starts_with("\"api\";r=0;t="));
  CHECK(RawClient::get(hub.endpoint() + "/datasets/org/name/resolve/main/file").status == 200);
  hub.advance_clock(std::chrono::seconds{300});
  CHECK(RawClient::get(api).status == 200);
}
