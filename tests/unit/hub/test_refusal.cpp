// SPDX-License-Identifier: Apache-2.0
#include "refusal.hpp"

#include "support/catch.hpp"

using namespace decant;
using namespace decant::hub;

namespace {

constexpr std::string_view k_canary = "hf_canaryCANARYcanary";
using About = Question::About;

Problem ask(const Question& question, const net::Outcome& outcome, std::string_view body, bool with_token,
            std::string_view gated = {}) {
  const Address address{parse_endpoint("https://hub.test"), model::RepoType::dataset, "acme/rel"};
  Token token;
  if (with_token) token = {.value = net::Secret{std::string{k_canary}}, .came_from = "HF_TOKEN"};
  return refusal({.address = address, .token = token, .gated = gated}, question,
                 *net::parse_url("https://hub.test/datasets/acme/rel/resolve/x/a?sig=secret"), outcome, body);
}

net::Outcome http(int status, std::string code = {}, std::string message = {}) {
  net::Outcome outcome{.head = {.status = status, .headers = {{"x-request-id", "Root=1-id"}}}};
  if (!code.empty()) outcome.head.headers.emplace_back("x-error-code", std::move(code));
  if (!message.empty()) outcome.head.headers.emplace_back("x-error-message", std::move(message));
  return outcome;
}

bool says(const Problem& problem, std::string_view words) {
  return to_text(problem).find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("each refusal of the hub is told apart in words") {
  struct Row {
    std::string name;
    net::Outcome outcome;
    bool with_token;
    About about;
    ErrorKind kind;
    std::vector<std::string> words;
    std::string body = {};
  };
  const std::vector<Row> rows{
      {"gated, no token",
       http(401, "GatedRepo", "Please log in."),
       false,
       About::file,
       ErrorKind::access,
       {"gated, and no token is set", "https://hub.test/datasets/acme/rel", "HF_TOKEN", "Please log in."}},
      {"gated, token not taken",
       http(401, "GatedRepo"),
       true,
       About::file,
       ErrorKind::access,
       {"gated", "the token from HF_TOKEN was not accepted as a login"}},
      {"gated, not on the list",
       http(403, "GatedRepo", "not in the authorized list"),
       true,
       About::file,
       ErrorKind::access,
       {"has no access yet", "account of the token from HF_TOKEN", "open https://hub.test/datasets/acme/rel",
        "not in the authorized list"}},
      {"token invalid",
       http(401, "", "Invalid credentials in Authorization header"),
       true,
       About::revision,
       ErrorKind::access,
       {"the token from HF_TOKEN is not valid"}},
      {"no repo, no token",
       http(401, "RepoNotFound", "Invalid username or password."),
       false,
       About::revision,
       ErrorKind::access,
       {"datasets/acme/rel does not exist, or it is private and no token is set", "--repo-type"}},
      {"no repo, with token",
       http(404, "RepoNotFound", "Repository not found"),
       true,
       About::revision,
       ErrorKind::access,
       {"does not exist, or the token from HF_TOKEN may not read it"}},
      {"bare 401", http(401), false, About::file, ErrorKind::access, {"does not exist, or it is private"}},
      {"no revision",
       http(404, "RevisionNotFound", "Invalid rev id"),
       true,
       About::file,
       ErrorKind::access,
       {"datasets/acme/rel has no revision v1", "--revision"}},
      {"no file",
       http(404, "EntryNotFound", "Entry not found"),
       true,
       About::file,
       ErrorKind::access,
       {"a/b.tar is not in datasets/acme/rel at revision v1"}},
      {"disabled",
       http(403, "", "Access to this resource is disabled."),
       true,
       About::file,
       ErrorKind::access,
       {"was disabled by the hub", "dir:PATH"}},
      {"fine-grained token",
       http(403, "", "Please enable access to public gated repositories"),
       true,
       About::file,
       ErrorKind::access,
       {"the token from HF_TOKEN may not read datasets/acme/rel",
        "Read access to contents of all public gated repos you can access"}},
      {"403 without a token", http(403), false, About::file, ErrorKind::access, {"refused without a token"}},
      {"404 without words", http(404), false, About::file, ErrorKind::access, {"was not found"}},
      {"limited",
       http(429),
       false,
       About::listing,
       ErrorKind::network,
       {"limits requests", "HF_TOKEN", "HTTP 429"}},
      {"server down",
       http(503),
       true,
       About::listing,
       ErrorKind::network,
       {"a problem of its own", "HTTP 503", "request id Root=1-id"}},
      {"unknown", http(418), true, About::file, ErrorKind::access, {"HTTP 418", "request id Root=1-id"}},
      {"words in JSON",
       http(418),
       true,
       About::file,
       ErrorKind::access,
       {"HTTP 418: no tea"},
       R"({"error":"no tea"})"},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    const Question question{
        .about = row.about, .what = row.about == About::file ? "a/b.tar" : "v1", .revision = "v1"};
    const Problem problem = ask(question, row.outcome, row.body, row.with_token);
    INFO(to_text(problem));
    CHECK(to_string(problem.kind) == to_string(row.kind));
    for (const auto& words : row.words) {
      INFO(words);
      CHECK(says(problem, words));
    }
    CHECK_FALSE(problem.hint.empty());
    CHECK_FALSE(says(problem, "canary"));
    CHECK_FALSE(says(problem, "secret"));
  }
}

TEST_CASE("how access is granted is told when the hub said it") {
  const Question question{.what = "a", .revision = "v1"};
  CHECK(says(ask(question, http(403, "GatedRepo"), "", true, "auto"), "grants it at once"));
  CHECK(says(ask(question, http(403, "GatedRepo"), "", true, "manual"), "the owner decides"));
}

TEST_CASE("failures of the way are told apart") {
  struct Row {
    net::TransferEnd end;
    ErrorKind kind;
    std::string words;
  };
  const std::vector<Row> rows{
      {net::TransferEnd::no_connect, ErrorKind::network, "cannot reach https://hub.test"},
      {net::TransferEnd::cut, ErrorKind::network, "was cut"},
      {net::TransferEnd::stalled, ErrorKind::network, "stopped sending"},
      {net::TransferEnd::tls, ErrorKind::network, "SSL_CERT_FILE"},
      {net::TransferEnd::proxy, ErrorKind::access, "the proxy refused"},
      {net::TransferEnd::protocol, ErrorKind::network, "cannot be used"},
  };
  const Question question{.what = "a", .revision = "v1"};
  for (const auto& row : rows) {
    INFO(net::to_string(row.end));
    const Problem problem = ask(question, {.end = row.end, .detail = "the library's words"}, "", true);
    CHECK(to_string(problem.kind) == to_string(row.kind));
    CHECK(says(problem, row.words));
    CHECK(says(problem, "the library's words"));
    CHECK_FALSE(says(problem, "secret"));
    const Problem storage = storage_refusal(question, *net::parse_url("https://cdn/x?Signature=secret"),
                                            {.end = row.end, .detail = "the library's words"});
    CHECK(to_string(storage.kind) == to_string(row.kind));
    CHECK_FALSE(says(storage, "secret"));
  }
}

TEST_CASE("server text is printable, short, and never holds the token") {
  const Question question{.what = "a", .revision = "v1"};
  const std::string nasty = "\x1b[31mred\nline \xe2\x80\xae" + std::string{k_canary} + std::string(5000, 'x');
  for (const bool in_header : {true, false}) {
    const Problem problem =
        in_header ? ask(question, http(418, "", nasty), "", true) : ask(question, http(418), nasty, true);
    CHECK_FALSE(says(problem, "canary"));
    CHECK(says(problem, "***"));
    CHECK(problem.found.find('\x1b') == std::string::npos);
    CHECK(problem.found.find('\n') == std::string::npos);
    CHECK(problem.found.size() < 500);
  }
  std::string wide;
  for (int i = 0; i < 400; ++i) wide += "\xc3\xa4";
  const Problem problem = ask(question, http(418, "", wide), "", true);
  CHECK(problem.found.find("\xc3...") == std::string::npos);
}

TEST_CASE("the storage's own page is not shown") {
  const Question question{.what = "a", .revision = "v1"};
  const Problem problem =
      storage_refusal(question, *net::parse_url("https://cdn/x?Signature=secret"), http(403));
  CHECK(problem.kind == ErrorKind::access);
  CHECK(says(problem, "https://cdn"));
  CHECK(says(problem, "HTTP 403"));
  CHECK_FALSE(says(problem, "secret"));
  CHECK(storage_refusal(question, *net::parse_url("https://cdn/x"), http(503)).kind == ErrorKind::network);
}
