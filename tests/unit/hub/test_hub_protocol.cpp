// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "decant/hash/hasher.hpp"
#include "decant/hub/hub.hpp"
#include "support/catch.hpp"
#include "unit/net/fakes.hpp"

using namespace decant;
using decant::test::FakeClock;
using decant::test::FakeTransport;
using decant::test::Reply;
using decant::test::Sent;

namespace {

const std::string k_commit = "0123456789abcdef0123456789abcdef01234567";
const std::string k_endpoint = "https://hub.test";

// One repository over a scripted transport.
struct Fixture {
  explicit Fixture(FakeTransport::Answer answer, hub::HubOptions options = {.repo = "acme/rel"})
      : transport{std::move(answer)} {
    if (options.endpoint == hub::k_default_endpoint) options.endpoint = k_endpoint;
    options.token = {.value = net::Secret{"hf_canary"}, .came_from = "HF_TOKEN"};
    repository = hub::open_hub(std::move(options), transport, clock, stop);
  }

  FakeTransport transport;
  FakeClock clock;
  Stop stop;
  std::unique_ptr<source::Repository> repository;
};

std::string path_of(const net::Request& request) {
  return request.url.path_and_query;
}

Reply json(std::string body, std::vector<std::pair<std::string, std::string>> headers = {}) {
  return {.status = 200, .headers = std::move(headers), .body = std::move(body)};
}

Reply redirect(std::string location, int status = 307) {
  return {.status = status, .headers = {{"location", std::move(location)}}};
}

Reply refused(int status, std::string code) {
  return {.status = status, .headers = {{"x-error-code", std::move(code)}}};
}

std::string entry(std::string_view path, std::uint64_t size) {
  return fmt::format(R"({{"type":"file","oid":"{}","size":{},"path":"{}"}})", std::string(40, 'a'), size,
                     path);
}

template <class Fn>
Problem problem_of(Fn&& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.problem();
  }
  FAIL("no Error");
  return {};
}

}  // namespace

TEST_CASE("a full commit id is resolved without a request") {
  Fixture f{[](const net::Request&) { return Reply{.status = 500}; }};
  const auto resolved = f.repository->resolve(k_commit);
  CHECK(resolved.repo == "acme/rel");
  CHECK(resolved.commit == k_commit);
  CHECK(f.transport.count() == 0);
  CHECK(f.repository->lock_source().requested_revision == k_commit);
  f.repository->pin({.repo = "other/name", .commit = k_commit});
  CHECK(f.repository->lock_source().repo == "other/name");
  CHECK(f.transport.count() == 0);
  CHECK_THROWS_AS(f.repository->pin({.repo = "other/name", .commit = "main"}), Error);
  CHECK_THROWS_AS(f.repository->pin({.repo = "../name", .commit = k_commit}), Error);
}

TEST_CASE("a branch is resolved once, and a rename is noticed") {
  Fixture f{[](const net::Request& request) {
    if (path_of(request) == "/api/datasets/acme/rel/revision/refs%2Fpr%2F1") {
      return redirect("/api/datasets/new/name/revision/refs%2Fpr%2F1");
    }
    return json(fmt::format(R"({{"id":"new/name","sha":"{}"}})", k_commit));
  }};
  const auto resolved = f.repository->resolve("refs/pr/1");
  CHECK(resolved.repo == "new/name");
  CHECK(resolved.commit == k_commit);
  const auto source = f.repository->lock_source();
  CHECK(source.kind == model::SourceKind::hub);
  CHECK(source.endpoint == k_endpoint);
  CHECK(source.repo == "new/name");
  CHECK(source.requested_revision == "refs/pr/1");
  CHECK(source.commit == k_commit);
  CHECK(f.repository->describe() == "datasets/new/name at https://hub.test");
  const auto sent = f.transport.sent();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].with_token);
  CHECK(sent[1].with_token);
}

TEST_CASE("a mirror that points to another origin gets no token there") {
  Fixture f{[](const net::Request& request) {
    if (request.url.origin.host == "hub.test")
      return redirect("https://huggingface.co" + path_of(request), 308);
    return json(fmt::format(R"({{"sha":"{}"}})", k_commit));
  }};
  CHECK(f.repository->resolve("main").commit == k_commit);
  const auto sent = f.transport.sent();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].with_token);
  CHECK_FALSE(sent[1].with_token);
}

TEST_CASE("a disabled repo is refused when it is resolved") {
  Fixture f{
      [](const net::Request&) { return json(fmt::format(R"({{"sha":"{}","disabled":true}})", k_commit)); }};
  CHECK(problem_of([&] { f.repository->resolve("main"); }).kind == ErrorKind::access);
}

TEST_CASE("redirects that are not followed end the request") {
  for (const std::string location :
       {"http://hub.test/x", "file:///etc/passwd", "https://u:p@hub.test/x", "/loop", ""}) {
    INFO(location);
    Fixture f{[&](const net::Request&) { return redirect(location); }};
    const Problem problem = problem_of([&] { f.repository->resolve("main"); });
    CHECK(problem.kind == ErrorKind::access);
    CHECK(f.transport.count() <= 6);
  }
}

TEST_CASE("a listing follows its pages on our endpoint") {
  // cursor=1 is followed by cursor=12, which holds no further link
  Fixture f{[](const net::Request& request) {
    const std::string path = path_of(request);
    if (path.find("cursor=12") != std::string::npos) return json("[" + entry("c", 3) + "]");
    if (path.find("cursor=1") != std::string::npos) {
      return json("[" + entry("b", 2) + "]",
                  {{"link", "<https://huggingface.co" + path + "2>; rel=\"next\""}});
    }
    return json("[" + entry("a", 1) + R"(,{"type":"directory","path":"d","oid":"x"}])",
                {{"link", "<https://huggingface.co" + path + "&cursor=1>; rel=\"next\""}});
  }};
  f.repository->resolve(k_commit);
  const auto listing = f.repository->list("");
  REQUIRE(listing.size() == 3);
  CHECK(listing[2].path == "c");
  for (const auto& sent : f.transport.sent()) {
    CHECK(sent.url.rfind(k_endpoint + "/api/datasets/acme/rel/tree/" + k_commit, 0) == 0);
    CHECK(sent.with_token);
  }
}

TEST_CASE("a listing that never ends is given up") {
  SECTION("the same page again") {
    Fixture f{[](const net::Request& request) {
      return json("[]", {{"link", "<" + request.url.str() + ">; rel=\"next\""}});
    }};
    f.repository->resolve(k_commit);
    CHECK(problem_of([&] { f.repository->list(""); }).kind == ErrorKind::network);
    CHECK(f.transport.count() == 1);
  }
  SECTION("new pages for ever") {
    int page = 0;
    Fixture f{[&](const net::Request&) {
      return json("[]", {{"link", fmt::format("<https://hub.test/api/x?cursor={}>; rel=\"next\"", ++page)}});
    }};
    f.repository->resolve(k_commit);
    CHECK(problem_of([&] { f.repository->list(""); }).kind == ErrorKind::network);
  }
  SECTION("a next page that is none") {
    Fixture f{[](const net::Request&) { return json("[]", {{"link", "<ftp://x/>; rel=\"next\""}}); }};
    f.repository->resolve(k_commit);
    CHECK(problem_of([&] { f.repository->list(""); }).kind == ErrorKind::network);
  }
}

TEST_CASE("a folder that is not there lists nothing, a revision that is not there is an error") {
  std::string code = "EntryNotFound";
  Fixture f{[&](const net::Request&) { return refused(404, code); }};
  f.repository->resolve(k_commit);
  CHECK(f.repository->list("releases/r9").empty());
  code = "RevisionNotFound";
  CHECK(problem_of([&] { f.repository->list("releases/r9"); }).kind == ErrorKind::access);
}

TEST_CASE("paths are asked for in batches of 500, and only what was asked for is taken") {
  std::vector<std::string> bodies;
  Fixture f{[&](const net::Request& request) {
    bodies.push_back(request.body);
    return json("[" + entry("p0", 1) + "," + entry("p500", 2) + "," + entry("evil", 3) + "," +
                entry("p0", 9) + "]");
  }};
  f.repository->resolve(k_commit);
  std::vector<std::string> paths;
  for (int i = 0; i < 1001; ++i) paths.push_back(fmt::format("p{}", i));
  const auto listing = f.repository->paths_info(paths);
  REQUIRE(listing.size() == 2);
  CHECK(listing[0].path == "p0");
  CHECK(listing[0].size == 1);
  CHECK(listing[1].path == "p500");
  CHECK(bodies.size() == 3);
  for (const auto& sent : f.transport.sent()) {
    CHECK(sent.method == net::Method::post);
    CHECK(sent.url == k_endpoint + "/api/datasets/acme/rel/paths-info/" + k_commit);
  }
  CHECK(f.repository->paths_info({}).empty());
  CHECK(f.transport.count() == 3);
}

TEST_CASE("a POST keeps its question through a rename, and is not turned into a GET") {
  int status = 307;
  Fixture f{[&](const net::Request& request) {
    if (path_of(request).find("/acme/") != std::string::npos) {
      return redirect("/api/datasets/new/name/paths-info/" + k_commit, status);
    }
    CHECK(request.method == net::Method::post);
    CHECK_FALSE(request.body.empty());
    return json("[" + entry("a", 1) + "]");
  }};
  f.repository->resolve(k_commit);
  CHECK(f.repository->paths_info({"a"}).size() == 1);
  status = 302;
  CHECK(problem_of([&] { f.repository->paths_info({"a"}); }).kind == ErrorKind::access);
}

TEST_CASE("small requests are retried, and the waiting is said") {
  int asked = 0;
  std::vector<std::string> said;
  hub::HubOptions options{.repo = "acme/rel"};
  options.on_wait = [&](std::string_view text) { said.emplace_back(text); };
  Fixture f{[&](const net::Request&) {
              ++asked;
              if (asked < 3) return Reply{.status = 503};
              return json("[]");
            },
            std::move(options)};
  f.repository->resolve(k_commit);
  CHECK(f.repository->list("").empty());
  CHECK(asked == 3);
  CHECK(said.size() == 3);
  CHECK(said.back().empty());
}

TEST_CASE("a small file is read through its redirects and checked") {
  const std::string content = "hello";
  const auto digest = hash::sha256(content);
  std::string served = content;
  Fixture f{[&](const net::Request& request) {
    if (request.url.origin.host == "cdn.test") return json(served);
    return Reply{.status = 302,
                 .headers = {{"location", "https://cdn.test/x?Signature=secret"},
                             {"x-repo-commit", k_commit},
                             {"x-linked-size", "5"},
                             {"x-linked-etag", '"' + digest.hex() + '"'}}};
  }};
  f.repository->resolve(k_commit);
  CHECK(f.repository->read_file("a b", 100, digest) == content);
  CHECK(f.repository->read_file("a b", 100, std::nullopt) == content);
  const auto sent = f.transport.sent();
  CHECK(sent[0].url == k_endpoint + "/datasets/acme/rel/resolve/" + k_commit + "/a%20b");
  CHECK(sent[0].with_token);
  CHECK_FALSE(sent[1].with_token);

  SECTION("too large by what the hub says") {
    CHECK(problem_of([&] { f.repository->read_file("a", 4, digest); }).kind == ErrorKind::state);
  }
  SECTION("other bytes than the hub's own digest") {
    served = "hellO";
    const Problem problem = problem_of([&] { f.repository->read_file("a", 100, std::nullopt); });
    CHECK(problem.kind == ErrorKind::integrity);
    CHECK(problem.expected.find(digest.hex()) != std::string::npos);
    CHECK(f.transport.count() == 8);  // fetched twice
  }
  SECTION("other bytes than expected") {
    CHECK(problem_of([&] { f.repository->read_file("a", 100, hash::sha256("x")); }).kind ==
          ErrorKind::integrity);
  }
}

TEST_CASE("a regular file's git id is checked") {
  hash::Hasher hasher{hash::Algorithm::git_sha1, 5};
  hasher.update(as_bytes("hello"));
  const std::string tag = "W/\"" + hasher.finish().hex() + '"';
  std::string served = "hello";
  Fixture f{[&](const net::Request&) { return json(served, {{"etag", tag}, {"x-repo-commit", k_commit}}); }};
  f.repository->resolve(k_commit);
  CHECK(f.repository->read_file("a", 100, std::nullopt) == "hello");
  CHECK(problem_of([&] { f.repository->read_file("a", 4, std::nullopt); }).kind == ErrorKind::state);
  served = "hellO";
  CHECK(problem_of([&] { f.repository->read_file("a", 100, std::nullopt); }).kind == ErrorKind::integrity);
}

TEST_CASE("a file that is not there is told from other refusals") {
  Reply reply = refused(404, "EntryNotFound");
  Fixture f{[&](const net::Request&) { return reply; }};
  f.repository->resolve(k_commit);
  CHECK_FALSE(f.repository->read_file("a", 100, std::nullopt));
  reply = {.status = 404, .headers = {{"x-repo-commit", k_commit}}};
  CHECK_FALSE(f.repository->read_file("a", 100, std::nullopt));
  for (const auto& [status, code] : std::vector<std::pair<int, std::string>>{{404, "RevisionNotFound"},
                                                                             {404, "RepoNotFound"},
                                                                             {404, ""},
                                                                             {401, "GatedRepo"},
                                                                             {403, "GatedRepo"}}) {
    INFO(status << code);
    reply = code.empty() ? Reply{.status = status} : refused(status, code);
    CHECK(problem_of([&] { f.repository->read_file("a", 100, std::nullopt); }).kind == ErrorKind::access);
  }
  reply = {.status = 503};
  CHECK(problem_of([&] { f.repository->read_file("a", 100, std::nullopt); }).kind == ErrorKind::network);
}

TEST_CASE("another commit than the pinned one is an integrity error") {
  Fixture f{[&](const net::Request&) { return json("x", {{"x-repo-commit", std::string(40, 'f')}}); }};
  f.repository->resolve(k_commit);
  const Problem problem = problem_of([&] { f.repository->read_file("a", 100, std::nullopt); });
  CHECK(problem.kind == ErrorKind::integrity);
  CHECK(problem.expected == k_commit);
  CHECK(problem.found == std::string(40, 'f'));
}

TEST_CASE("a small file whose signed URL is refused is asked for anew, three times at most") {
  int refusals = 0;
  int left = 2;
  Fixture f{[&](const net::Request& request) {
    if (request.url.origin.host == "hub.test") return redirect("https://cdn.test/x?Signature=secret", 302);
    if (left-- > 0) {
      ++refusals;
      return Reply{.status = 403, .body = "<Error><Code>AccessDenied</Code></Error>"};
    }
    return json("hello");
  }};
  f.repository->resolve(k_commit);
  CHECK(f.repository->read_file("a", 100, std::nullopt) == "hello");
  CHECK(refusals == 2);
  left = 1000;
  const Problem problem = problem_of([&] { f.repository->read_file("a", 100, std::nullopt); });
  CHECK(problem.kind == ErrorKind::access);
  CHECK(to_text(problem).find("secret") == std::string::npos);
  CHECK(refusals == 5);
}

TEST_CASE("a probe reads one byte") {
  const source::Object object{
      .path = fs::RelPath::require("a", "test"), .size = 10, .digest = hash::sha256("0123456789")};
  Reply storage{.status = 206, .headers = {{"content-range", "bytes 0-0/10"}}, .body = "0"};
  Reply hub{.status = 302, .headers = {{"location", "https://cdn.test/x"}}};
  Fixture f{
      [&](const net::Request& request) { return request.url.origin.host == "cdn.test" ? storage : hub; }};
  f.repository->resolve(k_commit);
  f.repository->probe(object);
  for (const auto& sent : f.transport.sent()) CHECK(sent.range == ByteRange{0, 1});
  CHECK(f.transport.count() == 2);

  SECTION("Range ignored: readable all the same") {
    storage = {.status = 200, .headers = {{"content-length", "10"}}, .body = std::string(200'000, 'x')};
    f.repository->probe(object);
  }
  SECTION("another size") {
    storage.headers = {{"content-range", "bytes 0-0/11"}};
    CHECK(problem_of([&] { f.repository->probe(object); }).kind == ErrorKind::integrity);
  }
  SECTION("the hub says another digest") {
    hub.headers.emplace_back("x-linked-etag", std::string(64, 'e'));
    CHECK(problem_of([&] { f.repository->probe(object); }).kind == ErrorKind::integrity);
  }
  SECTION("gated") {
    hub = refused(403, "GatedRepo");
    CHECK(problem_of([&] { f.repository->probe(object); }).kind == ErrorKind::access);
  }
  SECTION("absent") {
    hub = refused(404, "EntryNotFound");
    CHECK(problem_of([&] { f.repository->probe(object); }).kind == ErrorKind::access);
  }
  SECTION("storage down") {
    storage = {.status = 503};
    CHECK(problem_of([&] { f.repository->probe(object); }).kind == ErrorKind::network);
  }
  SECTION("an empty object") {
    hub = {.status = 200};
    f.repository->probe({.path = object.path, .size = 0, .digest = hash::sha256("")});
    CHECK_FALSE(f.transport.sent().back().range);
  }
}

TEST_CASE("a repository cannot be opened in ways that would leak or mislead") {
  FakeTransport transport{[](const net::Request&) { return Reply{}; }};
  FakeClock clock;
  Stop stop;
  struct Row {
    std::string endpoint, repo, token;
    bool good;
  };
  const std::vector<Row> rows{
      {"https://hub.test", "acme/rel", "hf_canary", true},
      {"http://127.0.0.1:1", "acme/rel", "hf_canary", true},
      {"http://localhost:1", "acme/rel", "hf_canary", true},
      {"http://hub.test", "acme/rel", "", true},
      {"http://hub.test", "acme/rel", "hf_canary", false},
      {"http://127.0.0.1.evil.test", "acme/rel", "hf_canary", false},
      {"ftp://hub.test", "acme/rel", "", false},
      {"https://hub.test", "acme/../rel", "", false},
      {"https://hub.test", "", "", false},
      {"https://hub.test", "acme/rel", "hf_canary\r\nX-Evil: 1", false},
      {"https://hub.test", "acme/rel", "hf canary", false},
      {"https://hub.test", "acme/rel", "hf_\xc3\xa4", false},
  };
  for (const auto& row : rows) {
    INFO(row.endpoint << ' ' << row.repo);
    hub::HubOptions options{.endpoint = row.endpoint,
                            .repo = row.repo,
                            .token = {.value = net::Secret{row.token}, .came_from = "HF_TOKEN"}};
    try {
      hub::open_hub(options, transport, clock, stop);
      CHECK(row.good);
    } catch (const Error& error) {
      CHECK_FALSE(row.good);
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(to_text(error.problem()).find("canary") == std::string::npos);
    }
  }
  CHECK(transport.count() == 0);
}

TEST_CASE("nothing is asked before a commit is known") {
  Fixture f{[](const net::Request&) { return Reply{}; }};
  CHECK(problem_of([&] { f.repository->list(""); }).kind == ErrorKind::bug);
  CHECK(f.transport.count() == 0);
}
