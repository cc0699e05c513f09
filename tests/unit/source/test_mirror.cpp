// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>

#include "decant/hash/hasher.hpp"
#include "decant/source/mirror.hpp"
#include "support/catch.hpp"
#include "unit/net/fakes.hpp"

using namespace decant;
using namespace decant::source;
using decant::test::FakeClock;
using decant::test::FakeTransport;
using decant::test::Reply;

namespace {

struct TextSink final : ByteSink {
  void write(Bytes bytes) override { text += as_text(bytes); }
  std::string text;
};

// A web server over a table of files, with knobs.
struct Fixture {
  Fixture() {
    source = open_mirror(parse_mirror_base("http://mirror.test/base/", "--from"), transport, clock);
  }

  Object object(const std::string& path = "dir/a #1") const {
    return {
        .path = fs::RelPath::require(path, "test"), .size = content.size(), .digest = hash::sha256(content)};
  }
  std::string by_digest() const {
    const auto hex = hash::sha256(content).hex();
    return fmt::format("http://mirror.test/base/sha256/{}/{}", hex.substr(0, 2), hex);
  }
  ReadOutcome read(ByteRange range, const std::string& path = "dir/a #1") {
    sink.text.clear();
    return source->read(object(path), range, sink, stop);
  }
  std::vector<std::string> urls() const {
    std::vector<std::string> out;
    for (const auto& one : transport.sent()) out.push_back(one.url);
    return out;
  }

  Reply answer(const net::Request& request) {
    const auto at = replies.find(request.url.str());
    if (at != replies.end()) return at->second;
    const auto file = files.find(request.url.str());
    if (file == files.end()) return {.status = missing, .body = "no such page"};
    const std::string& bytes = file->second;
    if (!request.range || ignores_range)
      return {.status = 200, .headers = {{"content-length", std::to_string(bytes.size())}}, .body = bytes};
    const auto range = *request.range;
    return {.status = 206,
            .headers = {{"content-range",
                         fmt::format("bytes {}-{}/{}", range.offset, range.end() - 1, bytes.size())},
                        {"content-length", std::to_string(range.length)}},
            .body = bytes.substr(range.offset, range.length)};
  }

  std::string content = "0123456789abcdef";
  std::map<std::string, std::string> files;
  std::map<std::string, Reply> replies;
  int missing = 404;
  bool ignores_range = false;
  FakeClock clock;
  FakeTransport transport{[this](const net::Request& request) { return answer(request); }};
  Stop stop;
  TextSink sink;
  std::unique_ptr<Source> source;
};

constexpr const char* k_by_path = "http://mirror.test/base/dir/a%20%231";

}  // namespace

TEST_CASE("a mirror of a cache is asked by digest, once for each range") {
  Fixture f;
  f.files[f.by_digest()] = f.content;
  CHECK(f.source->name() == "http://mirror.test/base");
  CHECK_FALSE(f.source->is_local());
  for (const ByteRange range : {ByteRange{0, 4}, ByteRange{4, 12}, ByteRange{3, 1}}) {
    const auto outcome = f.read(range);
    CHECK(outcome.end == ReadEnd::complete);
    CHECK(outcome.received == range.length);
    CHECK(f.sink.text == f.content.substr(range.offset, range.length));
  }
  CHECK(f.urls() == std::vector<std::string>(3, f.by_digest()));
  for (const auto& sent : f.transport.sent()) CHECK_FALSE(sent.with_token);
}

TEST_CASE("a mirror of a repo tree is found out with the first object, and asked by path from then on") {
  Fixture f;
  f.files[k_by_path] = f.content;
  f.files["http://mirror.test/base/other"] = f.content;
  CHECK(f.read({0, 4}).end == ReadEnd::complete);
  CHECK(f.read({4, 4}).end == ReadEnd::complete);
  CHECK(f.read({0, 4}, "other").end == ReadEnd::complete);
  CHECK(f.urls() ==
        std::vector<std::string>{f.by_digest(), k_by_path, k_by_path, "http://mirror.test/base/other"});
}

TEST_CASE("git blobs have a directory of their own") {
  Fixture f;
  const Object blob{.path = fs::RelPath::require("x", "test"),
                    .size = f.content.size(),
                    .digest = *hash::Digest::parse(hash::Algorithm::git_sha1, std::string(40, 'a'))};
  f.source->read(blob, {0, 1}, f.sink, f.stop);
  CHECK(f.urls().front() == "http://mirror.test/base/git-sha1/aa/" + std::string(40, 'a'));
}

TEST_CASE("what a mirror has under no name is absent, not wrong") {
  Fixture f;
  SECTION("404") {}
  SECTION("410") {
    f.missing = 410;
  }
  SECTION("storage that says 403 of what is not there, and serves other objects") {
    f.files["http://mirror.test/base/other"] = f.content;
    f.missing = 403;
    REQUIRE(f.read({0, 4}, "other").end == ReadEnd::complete);
  }
  const auto outcome = f.read({0, 4});
  CHECK(outcome.end == ReadEnd::absent);
  CHECK(outcome.received == 0);
  CHECK(outcome.problem.kind == ErrorKind::access);
  CHECK(outcome.problem.thing.find("http://mirror.test/base") != std::string::npos);
}

TEST_CASE("a mirror that refuses everything says so") {
  Fixture f;
  f.missing = 403;
  const auto outcome = f.read({0, 4});
  CHECK(outcome.end == ReadEnd::failed);
  CHECK(outcome.problem.found == "HTTP 403");
}

TEST_CASE("an object of another size is another object") {
  Fixture f;
  SECTION("ranges") {}
  SECTION("whole files") {
    f.ignores_range = true;
  }
  f.files[k_by_path] = f.content + "more";
  const auto outcome = f.read({0, 4});
  CHECK(outcome.end == ReadEnd::wrong_object);
  CHECK(outcome.problem.kind == ErrorKind::integrity);
  CHECK(f.sink.text.empty());
}

TEST_CASE("a page that is sent for every name hides no object under the other name") {
  Fixture f;
  f.replies[f.by_digest()] = {.status = 200, .headers = {{"content-length", "4"}}, .body = "home"};
  f.files[k_by_path] = f.content;
  CHECK(f.read({0, 16}).end == ReadEnd::complete);
  CHECK(f.sink.text == f.content);
}

TEST_CASE("a mirror without ranges sends files from their start") {
  Fixture f;
  f.files[f.by_digest()] = f.content;
  f.ignores_range = true;
  CHECK(f.read({4, 4}).end == ReadEnd::range_ignored);
  CHECK(f.sink.text.empty());
  CHECK(f.read({0, 16}).end == ReadEnd::complete);
  CHECK(f.sink.text == f.content);
}

TEST_CASE("what may pass is worth another try, at once or when the mirror says") {
  struct Row {
    const char* name;
    Reply reply;
    bool has_wait;
  };
  const std::vector<Row> rows{
      {"busy", {.status = 503, .headers = {{"retry-after", "7"}}}, true},
      {"broken", {.status = 502}, false},
      {"no connection", {.status = 0, .end = net::TransferEnd::no_connect}, false},
      {"stalled", {.status = 0, .end = net::TransferEnd::stalled}, false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    Fixture f;
    f.replies[f.by_digest()] = row.reply;
    const auto outcome = f.read({0, 4});
    CHECK(outcome.end == ReadEnd::interrupted);
    CHECK(outcome.problem.kind == ErrorKind::network);
    CHECK(outcome.server_wait.has_value() == row.has_wait);
    CHECK(f.urls().size() == 1);  // says nothing about where the object lies
  }
}

TEST_CASE("a body that ends early keeps what came") {
  Fixture f;
  f.replies[f.by_digest()] = {.status = 206,
                              .headers = {{"content-range", "bytes 0-15/16"}, {"content-length", "16"}},
                              .body = "01234",
                              .end = net::TransferEnd::cut};
  const auto outcome = f.read({0, 16});
  CHECK(outcome.end == ReadEnd::interrupted);
  CHECK(outcome.received == 5);
  CHECK(f.sink.text == "01234");
}

TEST_CASE(
    "redirects of a mirror: at most five, and none that gives up encryption or leads elsewhere without") {
  struct Row {
    const char* from;
    const char* to;
    bool is_followed;
  };
  const std::vector<Row> rows{
      {"http://mirror.test/base", "/other/a", true},
      {"http://mirror.test/base", "http://mirror.test:8080/a", true},
      {"http://mirror.test/base", "https://cdn.test/a", true},
      {"http://mirror.test/base", "http://cdn.test/a", false},
      {"https://mirror.test/base", "http://mirror.test/a", false},
      {"https://mirror.test/base", "https://cdn.test/a?sig=secret", true},
      {"https://mirror.test/base", "ftp://cdn.test/a", false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.from, row.to);
    FakeClock clock;
    const std::string content = "0123456789abcdef";
    FakeTransport transport{[&](const net::Request& request) -> Reply {
      if (request.url.path_and_query.find("/base/") == 0)
        return {.status = 302, .headers = {{"location", row.to}}};
      return {.status = 200, .headers = {{"content-length", "16"}}, .body = content};
    }};
    const auto source = open_mirror(parse_mirror_base(row.from, "--from"), transport, clock);
    TextSink sink;
    const Stop stop;
    const Object object{
        .path = fs::RelPath::require("a", "test"), .size = 16, .digest = hash::sha256(content)};
    const auto outcome = source->read(object, {0, 16}, sink, stop);
    CHECK((outcome.end == ReadEnd::complete) == row.is_followed);
    CHECK((sink.text == content) == row.is_followed);
    if (!row.is_followed) CHECK(outcome.end == ReadEnd::failed);
    CHECK(to_text(outcome.problem).find("secret") == std::string::npos);
  }
  FakeClock clock;
  FakeTransport transport{[](const net::Request&) -> Reply {
    return {.status = 302, .headers = {{"location", "/again"}}};
  }};
  const auto source = open_mirror(parse_mirror_base("http://mirror.test", "--from"), transport, clock);
  TextSink sink;
  const auto outcome =
      source->read({.path = fs::RelPath::require("a", "test"), .size = 1, .digest = hash::sha256("x")},
                   {0, 1}, sink, Stop{});
  CHECK(outcome.end == ReadEnd::failed);
  CHECK(transport.count() == 6);
}

TEST_CASE("an address of a mirror is taken apart, or refused without showing a secret") {
  CHECK(parse_mirror_base("http://Mirror.test:80///", "--from").str() == "http://mirror.test");
  CHECK(parse_mirror_base("https://m.test:8443/a/b/", "--from").str() == "https://m.test:8443/a/b");
  CHECK(parse_mirror_base("https://m.test/@scope/b", "--from").str() == "https://m.test/%40scope/b");
  for (const std::string text :
       {"http://", "https:///x", "ftp://m.test", "http://user:secret@m.test/x", "http://m.test/x?sig=secret",
        "http://m.test/x#secret", "http://m.test/a b", "http://m.test:0", "mirror"}) {
    CAPTURE(text);
    try {
      parse_mirror_base(text, "--from");
      FAIL("it was taken");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(to_text(error.problem()).find("secret") == std::string::npos);
      CHECK(error.problem().thing.find("--from") != std::string::npos);
    }
  }
}

TEST_CASE("a mirror as the repo: small files, no commit, no listing") {
  FakeClock clock;
  Stop stop;
  int refusals = 1;
  FakeTransport transport{[&](const net::Request& request) -> Reply {
    const std::string url = request.url.str();
    if (url == "http://mirror.test/r/release_manifest.json") {
      if (refusals-- > 0) return {.status = 503};
      return {.status = 302, .headers = {{"location", "/elsewhere"}}};
    }
    if (url == "http://mirror.test/elsewhere") return {.status = 200, .body = "{}"};
    if (url == "http://mirror.test/closed") return {.status = 403};
    return {.status = 404};
  }};
  const auto repo = open_mirror_repository(
      {.base = parse_mirror_base("http://mirror.test", "SOURCE"), .retry = {}, .on_wait = {}}, transport,
      clock, stop);
  CHECK(repo->kind() == model::SourceKind::mirror);
  CHECK(repo->resolve("main").commit.empty());
  CHECK(repo->lock_source().endpoint == "http://mirror.test");
  CHECK(repo->read_file("r/release_manifest.json", 100, std::nullopt) == "{}");
  CHECK_FALSE(repo->read_file("nothing", 100, std::nullopt));
  CHECK_THROWS_AS(repo->read_file("closed", 100, std::nullopt), Error);
  refusals = 0;
  CHECK_THROWS_AS(repo->read_file("r/release_manifest.json", 1, std::nullopt), Error);
  CHECK_THROWS_AS(repo->read_file("r/release_manifest.json", 100, hash::sha256("other")), Error);
  try {
    repo->list("");
    FAIL("it was listed");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(error.problem().thing.find("no listing") != std::string::npos);
  }
  CHECK_THROWS_AS(
      repo->probe({.path = fs::RelPath::require("a", "test"), .size = 1, .digest = hash::sha256("x")}),
      Error);
}
