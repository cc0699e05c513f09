// SPDX-License-Identifier: Apache-2.0
// ModelScope as a place of bytes, over real sockets.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "decant/hash/hasher.hpp"
#include "decant/hub/modelscope.hpp"
#include "support/catch.hpp"
#include "support/test_hub.hpp"

using namespace decant;
using namespace decant::test;
using source::ReadEnd;

namespace {

constexpr std::string_view k_token = "ms-canaryCANARYcanary";

struct TextSink final : ByteSink {
  void write(Bytes bytes) override { text += as_text(bytes); }
  std::string text;
};

source::Object object(const std::string& path, const std::string& content) {
  return {
      .path = fs::RelPath::require(path, "test"), .size = content.size(), .digest = hash::sha256(content)};
}

// A repo that the hub and ModelScope both have; at ModelScope some files are other ones.
struct Fixture {
  explicit Fixture(const std::string& type = "model") : repo{hub.add_repo({.type = type, .id = "org/name"})} {
    options.repo_type = type == "model" ? model::RepoType::model : model::RepoType::dataset;
    hub.add_token(std::string{k_token});
    repo.add_commit({{"big", big, Store::lfs}, {"config.json", "{}"}, {"tokenizer", "one", Store::lfs}});
    repo.add_commit({{"big", big, Store::lfs},
                     {"config.json", "{}"},
                     {"moved/here", moved, Store::lfs},
                     {"tokenizer", "two", Store::lfs},
                     {"longer", "longer", Store::lfs}},
                    {"master"});
    options.endpoint = hub.endpoint();
    options.repo = "org/name";
    options.token = {.value = net::Secret{std::string{k_token}}, .came_from = "MODELSCOPE_API_TOKEN"};
    options.retry = {.max_tries_without_progress = 4, .first = std::chrono::milliseconds{5}};
    options.on_note = [this](std::string_view note) { notes.emplace_back(note); };
    options.on_wait = [this](std::string_view wait) { waits.emplace_back(wait); };
    open();
  }
  void open() { place = decant::hub::open_modelscope(options, *transport, system_clock(), stop); }

  source::ReadOutcome read(const source::Object& wanted, ByteRange range, std::string& text) const {
    TextSink sink;
    auto outcome = place->read(wanted, range, sink, stop);
    text = sink.text;
    CHECK(outcome.received == text.size());
    CHECK(to_text(outcome.problem).find("canary") == std::string::npos);
    CHECK(to_text(outcome.problem).find("Signature") == std::string::npos);
    return outcome;
  }
  std::string read_well(const source::Object& wanted) const {
    std::string text;
    const auto outcome = read(wanted, {0, wanted.size}, text);
    INFO(to_text(outcome.problem));
    CHECK(outcome.end == ReadEnd::complete);
    return text;
  }
  source::ReadOutcome read_badly(const source::Object& wanted) const {
    std::string text;
    auto outcome = read(wanted, {0, wanted.size}, text);
    CHECK(outcome.end != ReadEnd::complete);
    CHECK_FALSE(outcome.problem.thing.empty());
    CHECK_FALSE(outcome.problem.hint.empty());
    return outcome;
  }
  std::size_t count(std::string_view part) const {
    std::size_t n = 0;
    for (const auto& request : hub.requests()) n += request.target.find(part) != std::string::npos ? 1U : 0U;
    return n;
  }

  const std::string big = Content::generated(7, 300'000).text();
  const std::string moved = std::string(5000, 'm');
  TestHub hub;
  TestRepo& repo;
  Stop stop;
  std::unique_ptr<net::Transport> transport = net::make_curl_transport({.user_agent = "decant/test"});
  std::vector<std::string> notes;
  std::vector<std::string> waits;
  decant::hub::ModelScopeOptions options;
  std::unique_ptr<source::Source> place;
};

}  // namespace

TEST_CASE("equal files come from ModelScope, over one list and one resolve a file") {
  for (const std::string type : {"model", "dataset"}) {
    DYNAMIC_SECTION(type) {
      Fixture f{type};
      CHECK(f.place->name() == "modelscope:org/name");
      const auto big = object("big", f.big);
      std::string piece;
      CHECK(f.read(big, {1000, 50}, piece).end == ReadEnd::complete);
      CHECK(piece == f.big.substr(1000, 50));
      CHECK(f.read(big, {299'990, 10}, piece).end == ReadEnd::complete);
      CHECK(piece == f.big.substr(299'990));
      CHECK((f.read_well(big) == f.big));
      CHECK(f.read_well(object("config.json", "{}")) == "{}");  // a SHA-256 pin of a small file
      CHECK(f.count("/repo/") == 1);
      CHECK(f.count("FilePath=big") == 1);
      CHECK(f.hub.counters().requests_cdn == 3);
      CHECK(f.notes.empty());
      for (const auto& request : f.hub.requests()) {
        if (!request.file.empty()) CHECK_FALSE(request.range.empty());
      }
    }
  }
}

TEST_CASE("the ModelScope token goes to the endpoint as cookie and bearer, and nowhere else") {
  Fixture f;
  f.read_well(object("big", f.big));
  std::size_t at_cdn = 0;
  for (const auto& request : f.hub.requests()) {
    std::string cookie;
    for (const auto& [name, value] : request.headers) {
      if (name == "Cookie") cookie = value;
    }
    CHECK(request.target.find("canary") == std::string::npos);
    if (request.where == Where::cdn) {
      ++at_cdn;
      CHECK_FALSE(request.has_authorization);
      CHECK(cookie.empty());
    } else {
      CHECK(request.authorization == fmt::format("Bearer {}", k_token));
      CHECK(cookie == fmt::format("m_session_id={}", k_token));
    }
  }
  CHECK(at_cdn == 1);
}

TEST_CASE("no byte of a file that differs is fetched from ModelScope, and it is named once") {
  Fixture f;
  CHECK(f.read_badly(object("tokenizer", "one")).end == ReadEnd::absent);
  CHECK(f.read_badly(object("tokenizer", "one")).end == ReadEnd::absent);
  CHECK(f.read_badly(object("longer", "long")).end == ReadEnd::absent);
  REQUIRE(f.notes.size() == 2);
  CHECK(f.notes[0].find("modelscope:org/name has another tokenizer") == 0);
  CHECK(f.notes[1].find("modelscope:org/name has another longer") == 0);
  CHECK(f.count("FilePath") == 0);
  CHECK(f.count("/repo/files") == 1);
}

TEST_CASE("a mirror of another release is not named file by file for ever") {
  Fixture f;
  std::vector<HubFile> files;
  files.reserve(40);
  for (int i = 0; i < 40; ++i) files.push_back({fmt::format("f{}", i), "other", Store::lfs});
  f.repo.add_commit(files, {"master"});
  for (int i = 0; i < 40; ++i) CHECK(f.read_badly(object(fmt::format("f{}", i), "x")).end == ReadEnd::absent);
  CHECK(f.notes.size() == 11);
  CHECK(f.notes.back().find("others, too") != std::string::npos);
}

TEST_CASE("the same content under another path at ModelScope is used") {
  Fixture f;
  CHECK(f.read_well(object("where/it/was", f.moved)) == f.moved);
  CHECK(f.count("FilePath=moved%2Fhere") == 1);
  CHECK(f.notes.empty());
}

TEST_CASE("what ModelScope does not have, or cannot compare, is absent without a word") {
  Fixture f;
  CHECK(f.read_badly(object("nowhere", "nothing")).end == ReadEnd::absent);
  CHECK(f.count("FilePath") == 0);
  f.hub.clear_log();
  f.open();
  auto pinned_by_git = object("config.json", "{}");
  pinned_by_git.digest = *hash::Digest::parse(hash::Algorithm::git_sha1, git_blob_id("{}"));
  CHECK(f.read_badly(pinned_by_git).end == ReadEnd::absent);
  CHECK(f.hub.requests().empty());
  CHECK(f.notes.empty());
}

TEST_CASE("a signed URL of ModelScope that ended is renewed under way") {
  Fixture f;
  const auto big = object("big", f.big);
  std::string piece;
  CHECK(f.read(big, {0, 10}, piece).end == ReadEnd::complete);
  f.hub.expire_urls();
  CHECK(f.read(big, {10, 10}, piece).end == ReadEnd::complete);
  CHECK(piece == f.big.substr(10, 10));
  CHECK(f.count("FilePath=big") == 2);
}

TEST_CASE("errors of ModelScope are told apart, in the status or only in the body") {
  struct Row {
    std::string name;
    std::string repo;
    std::string token;
    ErrorKind kind;
    std::vector<std::string> words;
  };
  const std::vector<Row> rows{
      {"no such repo",
       "org/none",
       "",
       ErrorKind::access,
       {"modelscope:org/none", "does not exist", "record not found"}},
      {"bad token",
       "org/name",
       "ms-typo",
       ErrorKind::access,
       {"MODELSCOPE_API_TOKEN", "may not read", "expired"}},
      {"gated",
       "org/gated",
       "",
       ErrorKind::access,
       {"modelscope:org/gated", "no token is set", "MODELSCOPE_API_TOKEN"}},
  };
  for (const bool in_body : {false, true}) {
    for (const auto& row : rows) {
      DYNAMIC_SECTION(row.name << (in_body ? ", in the body" : "")) {
        Fixture f;
        f.hub.add_repo({.type = "model", .id = "org/gated", .gated = "auto"}).add_commit({{"a", "b"}});
        f.hub.set_modelscope_errors_in_body(in_body);
        f.options.repo = row.repo;
        f.options.token.value = net::Secret{row.token};
        f.open();
        const auto outcome = f.read_badly(object("a", "b"));
        INFO(to_text(outcome.problem));
        CHECK(outcome.end == ReadEnd::failed);
        CHECK(outcome.problem.kind == row.kind);
        // A code such as 10010205001 says less than a status does.
        if (!in_body) {
          for (const auto& word : row.words) CHECK(to_text(outcome.problem).find(word) != std::string::npos);
        }
        CHECK(to_text(outcome.problem).find("code 1001") != std::string::npos);
        CHECK(f.read_badly(object("a", "b")).end == ReadEnd::failed);
        CHECK(f.count("/repo/files") == 1);  // a listing that failed is not asked for again
      }
    }
  }
}

TEST_CASE("ModelScope's limits and bad days are waited for") {
  Fixture f;
  f.hub.add_fault({.where = Where::hub,
                   .path = "*/repo/files",
                   .times = 1,
                   .status = 429,
                   .headers = {{"Retry-After", "0"}}});
  f.hub.add_fault({.where = Where::hub,
                   .path = "*/repo/files",
                   .times = 1,
                   .status = 200,
                   .headers = {{"Content-Type", "application/json"}},
                   .body = R"({"Code":503,"Message":"busy","Success":false})"});
  CHECK((f.read_well(object("big", f.big)) == f.big));
  CHECK(f.count("/repo/files") == 3);
  REQUIRE(f.waits.size() == 3);
  CHECK(f.waits[0].find("429") != std::string::npos);
  CHECK(f.waits[1].find("503") != std::string::npos);
  CHECK(f.waits[2].empty());
}

TEST_CASE("one page of many that ModelScope refuses is asked for again") {
  Fixture f{"dataset"};
  std::vector<HubFile> files;
  files.reserve(450);
  for (int i = 0; i < 450; ++i)
    files.push_back({fmt::format("d/f{:03}", i), fmt::format("content {}", i), Store::lfs});
  f.repo.add_commit(files, {"master"});
  f.hub.add_fault({.where = Where::hub, .path = "*/repo/tree", .skip = 1, .times = 1, .status = 403});
  CHECK(f.read_well(object("d/f449", "content 449")) == "content 449");
  CHECK(f.count("PageNumber=1&") == 1);
  CHECK(f.count("PageNumber=2&") == 2);
  CHECK(f.count("PageNumber=3&") == 1);
}

TEST_CASE("a list of a model that ModelScope cuts is asked for by directories") {
  Fixture f;
  std::vector<HubFile> files{{"top", "top", Store::lfs}};
  for (int i = 0; i < 2000; ++i) files.push_back({fmt::format("a/{:04}", i), "a", Store::lfs});
  for (int i = 0; i < 2000; ++i)
    files.push_back({fmt::format("b/c/{:04}", i), fmt::format("c {}", i), Store::lfs});
  f.repo.add_commit(files, {"master"});
  CHECK(f.read_well(object("b/c/1999", "c 1999")) == "c 1999");
  CHECK(f.read_well(object("top", "top")) == "top");
  CHECK(f.count("/repo/files") == 4);  // all, the top, a, b
}

TEST_CASE("an error page in place of a file of ModelScope is no file") {
  Fixture f;
  const auto big = object("big", f.big);
  struct Row {
    std::int64_t code;
    ReadEnd end;
  };
  const std::vector<Row> rows{{10010205001, ReadEnd::failed}, {429, ReadEnd::interrupted}};
  for (const auto& row : rows) {
    f.hub.clear_faults();
    f.hub.add_fault({.where = Where::hub,
                     .path = "*/repo",
                     .times = 0,
                     .status = 200,
                     .headers = {{"Content-Type", "application/json; charset=utf-8"}},
                     .body = fmt::format(R"({{"Code":{},"Message":"not now","Success":false}})", row.code)});
    const auto outcome = f.read_badly(big);
    INFO(to_text(outcome.problem));
    CHECK(outcome.end == row.end);
    CHECK(outcome.received == 0);
    CHECK(outcome.problem.found.find("not now") != std::string::npos);
  }
  // A JSON file is one all the same.
  f.hub.clear_faults();
  f.hub.add_fault(
      {.where = Where::hub, .path = "*/repo", .times = 0, .headers = {{"Content-Type", "application/json"}}});
  CHECK(f.read_well(object("config.json", "{}")) == "{}");
}

TEST_CASE("a storage that sends another size than ModelScope lists is found out") {
  Fixture f;
  f.hub.add_fault({.where = Where::cdn, .times = 0, .content = Content{"short"}});
  const auto outcome = f.read_badly(object("big", f.big));
  CHECK(outcome.end == ReadEnd::wrong_object);
  CHECK(outcome.problem.thing.find("modelscope:org/name has another") != std::string::npos);
}

TEST_CASE("many readers share one list and one resolved URL at ModelScope") {
  Fixture f;
  const auto big = object("big", f.big);
  std::vector<std::thread> readers;
  readers.reserve(6);
  std::atomic<int> good{0};
  for (int i = 0; i < 6; ++i) {
    readers.emplace_back([&, i] {
      TextSink sink;
      const ByteRange range{static_cast<std::uint64_t>(i) * 1000, 1000};
      const auto outcome = f.place->read(big, range, sink, f.stop);
      if (outcome.end == ReadEnd::complete && sink.text == f.big.substr(range.offset, 1000)) ++good;
    });
  }
  for (auto& reader : readers) reader.join();
  CHECK(good == 6);
  CHECK(f.count("/repo/files") == 1);
  CHECK(f.count("FilePath=big") == 1);
}

TEST_CASE("options that ModelScope cannot be asked with are refused before any request") {
  Fixture f;
  const auto refused = [&] {
    try {
      f.open();
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(to_text(error.problem()).find("canary") == std::string::npos);
      return to_text(error.problem());
    }
    return std::string{};
  };
  SECTION("an endpoint that is none") {
    f.options.endpoint = "modelscope.cn";
    CHECK(refused().find("MODELSCOPE_ENDPOINT") != std::string::npos);
  }
  SECTION("a token over http") {
    f.options.endpoint = "http://modelscope.example";
    CHECK(refused().find("MODELSCOPE_API_TOKEN") != std::string::npos);
  }
  SECTION("a token that would end the cookie") {
    f.options.token.value = net::Secret{"canary;x=y"};
    CHECK(refused().find("cookie") != std::string::npos);
  }
  SECTION("a token with a line end") {
    f.options.token.value = net::Secret{"canary\r\nX: y"};
    CHECK(refused().find("MODELSCOPE_API_TOKEN") != std::string::npos);
  }
  SECTION("a name that is none") {
    f.options.repo = "org/../name";
    CHECK(refused().find("ORG/NAME") != std::string::npos);
  }
  CHECK(f.hub.requests().empty());
}

TEST_CASE("the words that name a place at ModelScope") {
  using decant::hub::parse_modelscope;
  constexpr auto k_model = model::RepoType::model;
  constexpr auto k_dataset = model::RepoType::dataset;
  struct Row {
    std::string words;
    std::string repo;  // empty: refused
    std::string revision;
    model::RepoType type;
  };
  const std::vector<Row> rows{
      {"modelscope", "org/asked", "master", k_model},
      {"modelscope:a/b", "a/b", "master", k_model},
      {"modelscope:a/b@v1.0", "a/b", "v1.0", k_model},
      {"modelscope:a/b@refs/x", "a/b", "refs/x", k_model},
      {"modelscope:Qwen/Qwen3.5-27B", "Qwen/Qwen3.5-27B", "master", k_model},
      {"modelscope:datasets/a/b", "a/b", "master", k_dataset},
      {"modelscope:models/a/b@r", "a/b", "r", k_model},
      {"modelscope:models/b", "models/b", "master", k_model},
      {"modelscope:datasets/b@x/y", "datasets/b", "x/y", k_model},
      {"modelscope:", "", "", k_model},
      {"modelscope:a", "", "", k_model},
      {"modelscope:a/b/c", "", "", k_model},
      {"modelscope:a/b@", "", "", k_model},
      {"modelscope:../b", "", "", k_model},
      {"modelscope:a/b c", "", "", k_model},
      {"modelscope:a/b?x", "", "", k_model},
      {"modelscopes", "", "", k_model},
      {"hub:a/b", "", "", k_model},
  };
  for (const auto& row : rows) {
    INFO(row.words);
    if (row.repo.empty()) {
      CHECK_THROWS_AS(parse_modelscope(row.words, "org/asked", k_model), Error);
      continue;
    }
    CHECK(decant::hub::is_modelscope(row.words));
    const auto options = parse_modelscope(row.words, "org/asked", k_model);
    CHECK(options.repo == row.repo);
    CHECK(options.revision == row.revision);
    CHECK((options.repo_type == row.type));
    CHECK(options.endpoint == "https://modelscope.cn");
    CHECK(options.token.value.empty());
  }
  CHECK_FALSE(decant::hub::is_modelscope("modelscopes"));
  CHECK_FALSE(decant::hub::is_modelscope("dir:modelscope"));
  CHECK_THROWS_AS(parse_modelscope("modelscope", "gpt2", k_model), Error);
}
