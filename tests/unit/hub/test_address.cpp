// SPDX-License-Identifier: Apache-2.0
#include "address.hpp"

#include "decant/base/error.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::hub;

TEST_CASE("an endpoint is an origin, perhaps with a path") {
  CHECK(parse_endpoint("https://huggingface.co").str() == "https://huggingface.co");
  CHECK(parse_endpoint("https://HuggingFace.co///").str() == "https://huggingface.co");
  CHECK(parse_endpoint(" http://127.0.0.1:8080/ ").str() == "http://127.0.0.1:8080");
  CHECK(parse_endpoint("https://store.corp/api/hub/").str() == "https://store.corp/api/hub");
  for (const char* text :
       {"", "huggingface.co", "ftp://h", "https://h?x=1", "https://h/#x", "https://h/a b"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_endpoint(text), Error);
  }
}

TEST_CASE("a refused endpoint does not show its password") {
  try {
    parse_endpoint("https://user:pw-canary@h/");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(to_text(error.problem()).find("canary") == std::string::npos);
  }
}

TEST_CASE("repo names are checked before anything is asked") {
  for (const char* name : {"acme/rel", "gpt2", "a.b_c-d/e.f_g-h", "A1/B2"}) {
    INFO(name);
    CHECK(is_repo_name(name));
  }
  for (const std::string name :
       {"", "/", "a/", "/b", "a/b/c", "a--b/c", "a..b/c", "-a/b", "a/b-", ".a/b", "a/b.", "a/../b", "a b/c",
        "a/b?c", "a/b#c", "a%2f/b", "\xc3\xa4/b", "a/b\n"}) {
    INFO(name);
    CHECK_FALSE(is_repo_name(name));
  }
  CHECK_FALSE(is_repo_name("a/" + std::string(100, 'b')));
}

TEST_CASE("URLs are built with everything encoded") {
  const std::string commit(40, 'a');
  const Address data{parse_endpoint("https://huggingface.co"), model::RepoType::dataset, "acme/rel"};
  const Address weights{parse_endpoint("https://store.corp/api/hub"), model::RepoType::model, "acme/m"};
  CHECK(data.name() == "datasets/acme/rel");
  CHECK(data.page() == "https://huggingface.co/datasets/acme/rel");
  CHECK(data.revision("refs/pr/1").str() ==
        "https://huggingface.co/api/datasets/acme/rel/revision/refs%2Fpr%2F1");
  CHECK(data.tree(commit, "").str() ==
        "https://huggingface.co/api/datasets/acme/rel/tree/" + commit + "?recursive=true&expand=false");
  CHECK(data.tree(commit, "releases/r 1").str() == "https://huggingface.co/api/datasets/acme/rel/tree/" +
                                                       commit +
                                                       "/releases%2Fr%201?recursive=true&expand=false");
  CHECK(data.paths_info(commit).str() == "https://huggingface.co/api/datasets/acme/rel/paths-info/" + commit);
  CHECK(data.file(commit, "dir/a b#c?.txt").str() ==
        "https://huggingface.co/datasets/acme/rel/resolve/" + commit + "/dir/a%20b%23c%3F.txt");
  CHECK(weights.name() == "models/acme/m");
  CHECK(weights.page() == "https://store.corp/api/hub/acme/m");
  CHECK(weights.file(commit, "x").str() == "https://store.corp/api/hub/acme/m/resolve/" + commit + "/x");
  CHECK(weights.revision("main").str() == "https://store.corp/api/hub/api/models/acme/m/revision/main");
}

TEST_CASE("a next page is asked of our endpoint, wherever its URL points") {
  const Address plain{parse_endpoint("http://127.0.0.1:5000"), model::RepoType::dataset, "a/b"};
  const Address deep{parse_endpoint("https://store.corp/hub"), model::RepoType::dataset, "a/b"};
  const auto at = [](const Address& address, const char* url) {
    return address.at_endpoint(*net::parse_url(url)).str();
  };
  CHECK(at(plain, "https://huggingface.co/api/x?cursor=1") == "http://127.0.0.1:5000/api/x?cursor=1");
  CHECK(at(deep, "https://huggingface.co/api/x?cursor=1") == "https://store.corp/hub/api/x?cursor=1");
  CHECK(at(deep, "https://store.corp/hub/api/x?cursor=1") == "https://store.corp/hub/api/x?cursor=1");
}
