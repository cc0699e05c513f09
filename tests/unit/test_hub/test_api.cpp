// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/test_hub.hpp"
#include "unit/test_hub/raw_client.hpp"

using namespace decant::test;
using nlohmann::json;

namespace {

struct Fixture {
  TestHub hub;
  TestRepo& repo = hub.add_repo({.id = "org/name"});
  std::string commit = repo.add_commit({{"README.md", "Hello, World!"},
                                        {"empty", ""},
                                        {"r/a b#c%25.txt", "odd"},
                                        {"r/big.tar", Content::generated(1, 5000), Store::lfs},
                                        {"r/x/xet.bin", Content::generated(2, 7000), Store::xet}});

  std::string api(const std::string& rest) const { return hub.endpoint() + "/api/datasets/org/name" + rest; }
  std::string resolve(const std::string& path) const {
    return hub.endpoint() + "/datasets/org/name/resolve/" + commit + "/" + path;
  }
};

std::vector<std::string> paths_of(const json& entries) {
  std::vector<std::string> paths;
  for (const json& entry : entries) paths.push_back(entry["path"]);
  return paths;
}

}  // namespace

TEST_CASE("commit ids are 40 hex digits and the same in every run") {
  Fixture a;
  Fixture b;
  CHECK(a.commit == b.commit);
  CHECK(a.commit.size() == 40);
  CHECK(a.repo.add_commit({{"README.md", "Hello, World!"}}) != a.commit);
}

TEST_CASE_METHOD(Fixture, "info names the commit of a ref and its files") {
  const auto answer = RawClient::get(api("/revision/main?blobs=true&expand=sha"));
  REQUIRE(answer.status == 200);
  const json info = json::parse(answer.body);
  CHECK(info["sha"] == commit);
  CHECK(info["id"] == "org/name");
  CHECK(info["gated"] == false);
  CHECK(info["siblings"].size() == 5);
  CHECK(json::parse(RawClient::get(api("")).body)["sha"] == commit);
  CHECK(json::parse(RawClient::get(api("/refs")).body)["branches"][0]["targetCommit"] == commit);
}

TEST_CASE_METHOD(Fixture, "every answer of the hub tells the rate limit and an id") {
  for (const auto& url :
       {api(""), api("/tree/nope"), resolve("README.md"), hub.endpoint() + "/api/agent-harnesses"}) {
    const auto answer = RawClient::get(url);
    CHECK(answer.header("RateLimit").find(";r=") != std::string::npos);
    CHECK_FALSE(answer.header("RateLimit-Policy").empty());
    CHECK_FALSE(answer.header("X-Request-Id").empty());
  }
}

TEST_CASE_METHOD(Fixture, "a tree comes in pages, with directories, and an absolute link to the next") {
  hub.set_page_size(3);
  std::string url = api("/tree/" + commit + "?recursive=true&expand=false");
  std::vector<std::string> seen;
  int pages = 0;
  while (!url.empty()) {
    const auto answer = RawClient::get(url);
    REQUIRE(answer.status == 200);
    for (const auto& path : paths_of(json::parse(answer.body))) seen.push_back(path);
    const std::string link = answer.header("Link");
    url = link.empty() ? "" : link.substr(1, link.find('>') - 1);
    if (!link.empty()) {
      CHECK(link.starts_with("<" + hub.endpoint() + "/api/datasets/org/name/tree/" + commit +
                             "?recursive=true"));
    }
    REQUIRE(++pages < 10);
  }
  CHECK(pages == 3);
  CHECK(seen == std::vector<std::string>{"r", "r/x", "README.md", "empty", "r/a b#c%25.txt", "r/big.tar",
                                         "r/x/xet.bin"});
}

TEST_CASE_METHOD(Fixture, "a tree without recursion, below a directory") {
  CHECK(paths_of(json::parse(RawClient::get(api("/tree/main")).body)) ==
        std::vector<std::string>{"r", "README.md", "empty"});
  CHECK(paths_of(json::parse(RawClient::get(api("/tree/main/r%2Fx")).body)) ==
        std::vector<std::string>{"r/x/xet.bin"});
  CHECK(RawClient::get(api("/tree/main/none")).header("X-Error-Code") == "EntryNotFound");
}

TEST_CASE_METHOD(Fixture, "entries carry what proves a file") {
  const json all = json::parse(RawClient::get(api("/tree/main?recursive=true&expand=true")).body);
  for (const json& entry : all) {
    if (entry["path"] == "README.md") {
      CHECK(entry["oid"] == "b45ef6fec89518d314f546fd6c3025367b721684");
      CHECK(entry["securityFileStatus"]["status"] == "safe");
      CHECK_FALSE(entry.contains("lfs"));
    }
    if (entry["path"] == "r/big.tar") {
      CHECK(entry["size"] == 5000);
      CHECK(entry["lfs"]["size"] == 5000);
      CHECK(entry["lfs"]["pointerSize"] == 125 + 4);
      CHECK(entry["lfs"]["oid"] == Content::generated(1, 5000).sha256());
      CHECK_FALSE(entry.contains("xetHash"));
    }
    if (entry["path"] == "r/x/xet.bin") CHECK(entry["xetHash"].get<std::string>().size() == 64);
    CHECK(entry["lastCommit"]["id"] == commit);
  }
}

TEST_CASE_METHOD(Fixture, "paths-info takes a form and JSON; absent paths are left out") {
  const std::string url = api("/paths-info/" + commit);
  const auto form = RawClient::request("POST", url, {{"Content-Type", "application/x-www-form-urlencoded"}},
                                       "paths=r%2Fa+b%23c%2525.txt&paths=none&paths=r&expand=False");
  CHECK(paths_of(json::parse(form.body)) == std::vector<std::string>{"r/a b#c%25.txt", "r"});
  const auto as_json = RawClient::request("POST", url, {{"Content-Type", "application/json"}},
                                          R"({"paths":["r/big.tar","none"],"expand":true})");
  const json entries = json::parse(as_json.body);
  REQUIRE(entries.size() == 1);
  CHECK(entries[0]["lastCommit"]["id"] == commit);
  CHECK(RawClient::get(url).status == 405);
  std::string many = "expand=false";
  for (int i = 0; i < 1000; ++i) many += "&paths=p" + std::to_string(i);
  CHECK(RawClient::request("POST", url, {}, many).status == 413);
}

TEST_CASE_METHOD(Fixture, "a regular file is served by the hub, whole and by range") {
  const auto head = RawClient::request("HEAD", resolve("README.md"));
  CHECK(head.status == 200);
  CHECK(head.header("Content-Length") == "13");
  CHECK(head.header("ETag") == "\"b45ef6fec89518d314f546fd6c3025367b721684\"");
  CHECK(head.header("X-Repo-Commit") == commit);
  CHECK(RawClient::get(resolve("README.md")).body == "Hello, World!");
  CHECK(RawClient::get(resolve("r/a%20b%23c%2525.txt")).body == "odd");
  CHECK(RawClient::get(resolve("empty")).complete);

  struct Row {
    std::string range;
    int status;
    std::string content_range;
    std::string body;
  };
  for (const auto& row : std::vector<Row>{{"bytes=0-0", 206, "bytes 0-0/13", "H"},
                                          {"bytes=7-99", 206, "bytes 7-12/13", "World!"},
                                          {"bytes=12-", 206, "bytes 12-12/13", "!"},
                                          {"bytes=-6", 206, "bytes 7-12/13", "World!"},
                                          {"bytes=-99", 206, "bytes 0-12/13", "Hello, World!"},
                                          {"bytes=13-", 416, "bytes */13", ""},
                                          {"bytes=5-2", 200, "", "Hello, World!"},
                                          {"bytes=0-1,3-4", 200, "", "Hello, World!"}}) {
    INFO(row.range);
    const auto answer = RawClient::get(resolve("README.md"), {{"Range", row.range}});
    CHECK(answer.status == row.status);
    CHECK(answer.header("Content-Range") == row.content_range);
    CHECK(answer.body == row.body);
  }
}

TEST_CASE_METHOD(Fixture, "an LFS file is a redirect to a signed URL of another origin") {
  const auto answer = RawClient::get(resolve("r/big.tar"));
  REQUIRE(answer.status == 302);
  const Content content = Content::generated(1, 5000);
  CHECK(answer.header("X-Linked-Size") == "5000");
  CHECK(answer.header("X-Linked-ETag") == "\"" + content.sha256() + "\"");
  CHECK(answer.header("X-Repo-Commit") == commit);
  CHECK(answer.header("X-Xet-Hash").empty());
  const std::string location = answer.header("Location");
  REQUIRE(location.starts_with(hub.cdn_origin() + "/"));
  CHECK(location.find("Expires=") != std::string::npos);

  CHECK(RawClient::get(location).body == content.text());
  const auto part = RawClient::get(location, {{"Range", "bytes=1001-2000"}});
  CHECK(part.status == 206);
  CHECK(part.header("Content-Range") == "bytes 1001-2000/5000");
  CHECK(part.body == content.text().substr(1001, 1000));
  CHECK(part.header("ETag") != answer.header("X-Linked-ETag"));
  CHECK(RawClient::get(location, {{"Authorization", "Bearer x"}}).status == 400);
}

TEST_CASE_METHOD(Fixture, "a Xet file is the same, with links, and its facts as JSON when asked for") {
  const auto answer = RawClient::get(resolve("r/x/xet.bin"), {{"Accept", "*/*"}});
  REQUIRE(answer.status == 302);
  CHECK(answer.header("X-Xet-Hash").size() == 64);
  CHECK(answer.header("Link").find("rel=\"xet-auth\"") != std::string::npos);
  CHECK(answer.header("Location").find("X-Amz-Expires=3600") != std::string::npos);
  CHECK(RawClient::get(answer.header("Location")).body == Content::generated(2, 7000).text());

  const auto info = RawClient::get(
      resolve("r/x/xet.bin"), {{"Range", "bytes=0-0"}, {"Accept", "application/vnd.xet-fileinfo+json, */*"}});
  CHECK(info.status == 200);
  CHECK(json::parse(info.body)["size"] == 7000);
  CHECK(json::parse(RawClient::get(api("/xet-read-token/" + commit)).body).contains("accessToken"));
}

TEST_CASE_METHOD(Fixture, "a renamed repo answers 307 with a relative Location that keeps path and query") {
  auto& moved = hub.add_repo({.type = "model", .id = "new/model", .renamed_from = {"old/model"}});
  moved.add_commit({{"a b", "x"}});
  CHECK(
      RawClient::get(hub.endpoint() + "/api/models/old/model/tree/main?recursive=true").header("Location") ==
      "/api/models/new/model/tree/main?recursive=true");
  const auto answer = RawClient::get(hub.endpoint() + "/old/model/resolve/main/a%20b?x=1");
  CHECK(answer.status == 307);
  CHECK(answer.header("Location") == "/new/model/resolve/main/a%20b?x=1");
}

TEST_CASE_METHOD(Fixture, "small files may come by resolve-cache") {
  repo.change_options({.id = "org/name", .resolve_cache = true});
  const auto answer = RawClient::get(resolve("r/a%20b%23c%2525.txt"));
  REQUIRE(answer.status == 307);
  CHECK(answer.header("X-Repo-Commit") == commit);
  const std::string location = answer.header("Location");
  CHECK(location.find("/r%2Fa%20b%23c%2525.txt?etag=%22") != std::string::npos);
  CHECK(RawClient::get(hub.endpoint() + location).body == "odd");
}

TEST_CASE_METHOD(Fixture, "a moved ref and a dropped commit are seen at once") {
  const auto next = repo.add_commit({{"README.md", "new"}});
  CHECK(json::parse(RawClient::get(api("/revision/main")).body)["sha"] == next);
  CHECK(RawClient::get(resolve("README.md")).body == "Hello, World!");
  repo.drop_commit(commit);
  CHECK(RawClient::get(resolve("README.md")).header("X-Error-Code") == "RevisionNotFound");
}

TEST_CASE_METHOD(Fixture, "a connection is kept for the next request") {
  RawClient client{hub.endpoint()};
  for (int i = 0; i < 3; ++i)
    CHECK(client.send("GET", "/datasets/org/name/resolve/main/README.md").status == 200);
  CHECK(client.send("HEAD", "/datasets/org/name/resolve/main/README.md").status == 200);
  CHECK(client.send("GET", "/datasets/org/name/resolve/main/README.md").body == "Hello, World!");
  CHECK(hub.counters().connections_hub == 1);
}
