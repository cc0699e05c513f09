// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/test_hub.hpp"
#include "unit/test_hub/raw_client.hpp"

using namespace decant::test;
using nlohmann::json;

namespace {

struct Fixture {
  Fixture() {
    for (const std::string type : {"model", "dataset"}) {
      hub.add_repo({.type = type, .id = "org/name", .lfs_min = 100})
          .add_commit({{"a b+c#.txt", "small"}, {"dir/sub/big", std::string(1000, 'x')}, {"dir/x", "y"}});
    }
    hub.add_repo({.type = "model", .id = "org/closed", .is_private = true, .accepted_tokens = {"ms_friend"}})
        .add_commit({{"file", "content"}});
    hub.add_token("ms_stranger");
  }
  std::string api(const std::string& rest) const { return hub.endpoint() + "/api/v1/" + rest; }
  TestHub hub;
};

json files_of(const RawAnswer& answer) {
  const json value = json::parse(answer.body);
  CHECK(answer.status == 200);
  CHECK(value.at("Code") == 200);
  CHECK(value.at("Success") == true);
  return value.at("Data").at("Files");
}

std::vector<std::string> paths_of(const json& files) {
  std::vector<std::string> paths;
  for (const auto& file : files) paths.push_back(file.at("Path"));
  return paths;
}

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("ModelScope lists a model with the SHA-256 of every file") {
  Fixture f;
  const auto files =
      files_of(RawClient::get(f.api("models/org/name/repo/files?Revision=master&Recursive=True")));
  CHECK(paths_of(files) == Paths{"a b+c#.txt", "dir", "dir/sub", "dir/sub/big", "dir/x"});
  CHECK(files[0].at("Sha256") == sha256_hex("small"));
  CHECK(files[0].at("Size") == 5);
  CHECK(files[0].at("IsLFS") == false);
  CHECK(files[1].at("Type") == "tree");
  CHECK(files[3].at("Sha256") == sha256_hex(std::string(1000, 'x')));
  CHECK(files[3].at("IsLFS") == true);
  CHECK(paths_of(files_of(RawClient::get(f.api("models/org/name/repo/files?Recursive=False")))) ==
        Paths{"a b+c#.txt", "dir"});
  CHECK(paths_of(files_of(RawClient::get(f.api("models/org/name/repo/files?Recursive=True&Root=dir")))) ==
        Paths{"dir/sub", "dir/sub/big", "dir/x"});
}

TEST_CASE("ModelScope lists a dataset in pages") {
  Fixture f;
  const std::string url = f.api("datasets/org/name/repo/tree?Recursive=True&PageSize=3&PageNumber=");
  CHECK(paths_of(files_of(RawClient::get(url + "1"))) == Paths{"a b+c#.txt", "dir", "dir/sub"});
  CHECK(paths_of(files_of(RawClient::get(url + "2"))) == Paths{"dir/sub/big", "dir/x"});
  CHECK(paths_of(files_of(RawClient::get(url + "3"))).empty());
}

TEST_CASE("ModelScope cuts the list of a model at 3,000 entries, and says nothing of it") {
  Fixture f;
  std::vector<HubFile> files;
  for (int i = 0; i < 3005; ++i) files.push_back({"f" + std::to_string(i), "x"});
  f.hub.add_repo({.type = "model", .id = "org/large"}).add_commit(files);
  CHECK(files_of(RawClient::get(f.api("models/org/large/repo/files?Recursive=True"))).size() == 3000);
}

TEST_CASE("ModelScope sends small files itself and large ones from storage") {
  Fixture f;
  const auto small = RawClient::get(f.api("models/org/name/repo?Revision=master&FilePath=a+b%2Bc%23.txt"),
                                    {{"Range", "bytes=1-3"}});
  CHECK(small.status == 206);
  CHECK(small.body == "mal");
  const auto large = RawClient::get(f.api("models/org/name/repo?FilePath=dir%2Fsub%2Fbig"));
  CHECK(large.status == 302);
  const auto bytes = RawClient::get(large.header("Location"), {{"Range", "bytes=0-9"}});
  CHECK(bytes.status == 206);
  CHECK(bytes.body == std::string(10, 'x'));
  // Cookies know no ports: a client that keeps them sends them here, too.
  CHECK(RawClient::get(large.header("Location"), {{"Cookie", "m_session_id=x"}}).status == 200);
  for (const auto& request : f.hub.requests())
    CHECK(request.file == (request.path.find("/repo") == std::string::npos || request.file == "dir/sub/big"
                               ? "dir/sub/big"
                               : "a b+c#.txt"));
}

TEST_CASE("at ModelScope a branch called master is what is shown, else main") {
  Fixture f;
  auto& repo = f.hub.add_repo({.type = "model", .id = "org/two"});
  repo.add_commit({{"file", "one"}});
  repo.add_commit({{"file", "other"}}, {"master"});
  const std::string url = f.api("models/org/two/repo?FilePath=file&Revision=");
  CHECK(RawClient::get(url + "master").body == "other");
  CHECK(RawClient::get(url + "main").body == "one");
  CHECK(RawClient::get(url + "v9").status == 404);
}

TEST_CASE("ModelScope takes a token as cookie or bearer, and answers errors in an envelope") {
  Fixture f;
  struct Row {
    std::string repo;
    RawClient::Headers headers;
    int status;
  };
  const std::vector<Row> rows{
      {"name", {}, 200},
      {"name", {{"Cookie", "m_session_id=ms_stranger"}}, 200},
      {"name", {{"Cookie", "a=b; m_session_id=ms_typo"}}, 401},
      {"name", {{"Authorization", "Bearer ms_typo"}}, 401},
      {"closed", {}, 404},
      {"closed", {{"Cookie", "m_session_id=ms_stranger"}}, 404},
      {"closed", {{"Cookie", "a=b; m_session_id=ms_friend"}}, 200},
      {"closed", {{"Authorization", "Bearer ms_friend"}}, 200},
      {"closed", {{"Authorization", "Bearer ms_friend"}, {"Cookie", "m_session_id=ms_stranger"}}, 401},
      {"none", {}, 404},
  };
  const bool in_body = GENERATE(false, true);
  f.hub.set_modelscope_errors_in_body(in_body);
  for (const auto& row : rows) {
    const auto answer = RawClient::get(f.api("models/org/" + row.repo + "/repo/files"), row.headers);
    INFO(row.repo << " " << row.status << " " << answer.body);
    CHECK(answer.status == (in_body ? 200 : row.status));
    const json value = json::parse(answer.body);
    CHECK((value.at("Code") == 200) == (row.status == 200));
    CHECK(value.at("Success") == (row.status == 200));
  }
}
