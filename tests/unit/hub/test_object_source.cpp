// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <csignal>
#include <stdexcept>
#include <thread>

#include "decant/hash/hasher.hpp"
#include "decant/hub/hub.hpp"
#include "support/catch.hpp"
#include "unit/net/fakes.hpp"

using namespace decant;
using decant::test::FakeClock;
using decant::test::FakeTransport;
using decant::test::Reply;
using source::ReadEnd;
using std::chrono::seconds;

namespace {

const std::string k_commit = "0123456789abcdef0123456789abcdef01234567";

struct TextSink final : ByteSink {
  void write(Bytes bytes) override { text += as_text(bytes); }
  std::string text;
};

// A hub and a storage that behave, with knobs.
struct Fixture {
  Fixture() {
    repository = hub::open_hub({.endpoint = "https://hub.test",
                                .repo = "acme/rel",
                                .token = {.value = net::Secret{"hf_canary"}, .came_from = "HF_TOKEN"}},
                               transport, clock, stop);
    repository->pin({.repo = "acme/rel", .commit = k_commit});
  }

  source::ReadOutcome read(ByteRange range, TextSink& sink) {
    return repository->objects().read(object(), range, sink, stop);
  }
  std::string read_well(ByteRange range) {
    TextSink sink;
    const auto outcome = read(range, sink);
    INFO(to_text(outcome.problem));
    CHECK(outcome.end == ReadEnd::complete);
    CHECK(outcome.received == sink.text.size());
    return sink.text;
  }
  source::ReadOutcome read_badly(ByteRange range = {0, 4}) {
    TextSink sink;
    auto outcome = read(range, sink);
    CHECK(outcome.end != ReadEnd::complete);
    CHECK(outcome.received == sink.text.size());
    CHECK_FALSE(outcome.problem.thing.empty());
    CHECK(to_text(outcome.problem).find("secret") == std::string::npos);
    CHECK(to_text(outcome.problem).find("canary") == std::string::npos);
    return outcome;
  }
  source::Object object() const {
    return {.path = fs::RelPath::require("dir/a", "test"),
            .size = content.size(),
            .digest = hash::sha256(content)};
  }

  Reply answer(const net::Request& request) {
    if (request.url.origin.host == "hub.test") {
      ++resolves;
      if (hub_reply) return *hub_reply;
      const std::int64_t expires = clock.wall_seconds() + life;
      return {
          .status = 302,
          .headers = {{"location", fmt::format("https://cdn.test/x?Expires={}&Signature=secret", expires)},
                      {"x-repo-commit", k_commit},
                      {"x-linked-size", fmt::format("{}", content.size())},
                      {"x-linked-etag", '"' + hash::sha256(content).hex() + '"'}},
          .body = "Found"};
    }
    ++storage_reads;
    if (storage_reply) return storage_reply(request);
    return piece(request);
  }
  Reply piece(const net::Request& request) const {
    return {.status = 206,
            .headers = {{"content-range", fmt::format("bytes {}-{}/{}", request.range->offset,
                                                      request.range->end() - 1, content.size())},
                        {"content-length", fmt::format("{}", request.range->length)}},
            .body = content.substr(request.range->offset, request.range->length)};
  }

  std::string content = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::int64_t life = 3600;
  std::optional<Reply> hub_reply;
  std::function<Reply(const net::Request&)> storage_reply;
  std::atomic<int> resolves{0};
  std::atomic<int> storage_reads{0};
  FakeClock clock;
  Stop stop;
  FakeTransport transport{[this](const net::Request& request) { return answer(request); }};
  std::unique_ptr<source::Repository> repository;
};

}  // namespace

TEST_CASE("a range is read through the hub, further ones from the same place") {
  Fixture f;
  CHECK(f.read_well({0, 4}) == "0123");
  CHECK(f.read_well({30, 6}) == "uvwxyz");
  CHECK(f.read_well({10, 5}) == "abcde");
  CHECK(f.resolves == 1);
  CHECK(f.storage_reads == 3);
  for (const auto& sent : f.transport.sent()) {
    CHECK(sent.range.has_value());
    CHECK(sent.with_token == (sent.url.rfind("https://hub.test/", 0) == 0));
  }
  CHECK(f.transport.sent()[0].url == "https://hub.test/datasets/acme/rel/resolve/" + k_commit + "/dir/a");
  CHECK(f.repository->objects().name() == "hub");
}

TEST_CASE("nothing is asked for nothing") {
  Fixture f;
  CHECK(f.read_well({0, 0}).empty());
  f.content.clear();
  CHECK(f.read_well({0, 0}).empty());
  CHECK(f.transport.count() == 0);
}

TEST_CASE("a signed URL is renewed before it ends") {
  Fixture f;
  f.read_well({0, 4});
  f.clock.sleep(seconds{3500}, f.stop);
  f.read_well({0, 4});
  CHECK(f.resolves == 1);
  f.clock.sleep(seconds{50}, f.stop);
  f.read_well({0, 4});
  CHECK(f.resolves == 2);
}

TEST_CASE("the life of a signed URL is counted from the hub's own clock") {
  Fixture f;
  const std::int64_t hub_now = 784'111'777;  // years behind ours
  f.hub_reply = Reply{.status = 302,
                      .headers = {{"location", fmt::format("https://cdn.test/x?Expires={}", hub_now + 1000)},
                                  {"date", "Sun, 06 Nov 1994 08:49:37 GMT"}}};
  f.read_well({0, 4});
  f.clock.sleep(seconds{900}, f.stop);
  f.read_well({0, 4});
  CHECK(f.resolves == 1);
  f.clock.sleep(seconds{60}, f.stop);
  f.read_well({0, 4});
  CHECK(f.resolves == 2);
}

TEST_CASE("a place that ended under way is replaced within the same read") {
  Fixture f;
  f.read_well({0, 4});
  for (const int status : {400, 401, 403, 404, 410}) {
    INFO(status);
    bool refused = false;
    f.storage_reply = [&](const net::Request& request) {
      if (!refused) {
        refused = true;
        return Reply{.status = status, .body = "<Error/>"};
      }
      return f.piece(request);
    };
    const int before = f.resolves;
    CHECK(f.read_well({4, 4}) == "4567");
    CHECK(f.resolves == before + 1);
  }
  CHECK(f.clock.sleeps().empty());
}

TEST_CASE("fresh places that are refused are given up after three") {
  Fixture f;
  f.storage_reply = [](const net::Request&) { return Reply{.status = 403}; };
  CHECK(f.read_badly().end == ReadEnd::interrupted);
  CHECK(f.read_badly().end == ReadEnd::interrupted);
  const auto outcome = f.read_badly();
  CHECK(outcome.end == ReadEnd::failed);
  CHECK(outcome.problem.kind == ErrorKind::access);
  CHECK(f.resolves == 3);
  f.storage_reply = {};
  CHECK(f.read_well({0, 4}) == "0123");
  f.storage_reply = [](const net::Request&) { return Reply{.status = 403}; };
  CHECK(f.read_badly().end == ReadEnd::interrupted);  // counted anew
}

TEST_CASE("how a read can end at the storage") {
  struct Row {
    std::string name;
    std::function<Reply(Reply)> spoil;
    ByteRange range;
    ReadEnd end;
    std::string got;
    ErrorKind kind;
    std::optional<int> wait = std::nullopt;
  };
  const auto cut = [](Reply reply) {
    reply.body.resize(2);
    reply.end = net::TransferEnd::cut;
    return reply;
  };
  const auto with_status = [](int status) {
    return [status](Reply) { return Reply{.status = status, .headers = {{"retry-after", "7"}}}; };
  };
  const auto with_range = [](std::string value) {
    return [value = std::move(value)](Reply reply) {
      reply.headers[0].second = value;
      return reply;
    };
  };
  const auto ends = [](net::TransferEnd end) {
    return [end](Reply) { return Reply{.status = 0, .end = end, .detail = "words"}; };
  };
  const auto whole = [](Reply) {
    return Reply{.status = 200, .headers = {{"content-length", "36"}}, .body = std::string(36, 'w')};
  };
  const std::vector<Row> rows{
      {"cut", cut, {4, 4}, ReadEnd::interrupted, "45", ErrorKind::network},
      {"ends early",
       [](Reply reply) {
         reply.body.resize(3);
         return reply;
       },
       {4, 4},
       ReadEnd::interrupted,
       "456",
       ErrorKind::network},
      {"no connection",
       ends(net::TransferEnd::no_connect),
       {4, 4},
       ReadEnd::interrupted,
       "",
       ErrorKind::network},
      {"stalled", ends(net::TransferEnd::stalled), {4, 4}, ReadEnd::interrupted, "", ErrorKind::network},
      {"TLS", ends(net::TransferEnd::tls), {4, 4}, ReadEnd::failed, "", ErrorKind::network},
      {"proxy", ends(net::TransferEnd::proxy), {4, 4}, ReadEnd::failed, "", ErrorKind::access},
      {"not HTTP", ends(net::TransferEnd::protocol), {4, 4}, ReadEnd::failed, "", ErrorKind::network},
      {"503", with_status(503), {4, 4}, ReadEnd::interrupted, "", ErrorKind::network, 7},
      {"429", with_status(429), {4, 4}, ReadEnd::interrupted, "", ErrorKind::network, 7},
      {"416", with_status(416), {4, 4}, ReadEnd::wrong_object, "", ErrorKind::integrity},
      {"418", with_status(418), {4, 4}, ReadEnd::failed, "", ErrorKind::access},
      {"another start", with_range("bytes 5-8/36"), {4, 4}, ReadEnd::wrong_object, "", ErrorKind::integrity},
      {"another total", with_range("bytes 4-7/37"), {4, 4}, ReadEnd::wrong_object, "", ErrorKind::integrity},
      {"no Content-Range", with_range("?"), {4, 4}, ReadEnd::wrong_object, "", ErrorKind::integrity},
      {"Range ignored", whole, {4, 4}, ReadEnd::range_ignored, "", ErrorKind::network},
      {"Range ignored from the start", whole, {0, 4}, ReadEnd::range_ignored, "", ErrorKind::network},
      {"another size",
       [](Reply) {
         return Reply{.status = 200, .headers = {{"content-length", "35"}}};
       },
       {0, 36},
       ReadEnd::wrong_object,
       "",
       ErrorKind::integrity},
  };
  for (const bool known_place : {false, true}) {
    for (const auto& row : rows) {
      INFO(row.name << (known_place ? ", place known" : ", first read"));
      Fixture f;
      if (known_place) f.read_well({0, 1});
      f.storage_reply = [&](const net::Request& request) { return row.spoil(f.piece(request)); };
      TextSink sink;
      const auto outcome = f.read(row.range, sink);
      INFO(to_text(outcome.problem));
      CHECK(static_cast<int>(outcome.end) == static_cast<int>(row.end));
      CHECK(outcome.received == row.got.size());
      CHECK(sink.text == row.got);
      CHECK(to_string(outcome.problem.kind) == to_string(row.kind));
      CHECK(outcome.server_wait.has_value() == row.wait.has_value());
      if (outcome.server_wait && row.wait) CHECK(outcome.server_wait->count() == *row.wait);
      CHECK(to_text(outcome.problem).find("secret") == std::string::npos);
      f.storage_reply = {};
      CHECK(f.read_well({4, 4}) == "4567");  // none of it sticks
    }
  }
}

TEST_CASE("a longer body than asked for ends where the range ends") {
  Fixture f;
  f.storage_reply = [&](const net::Request& request) {
    Reply reply = f.piece(request);
    reply.headers = {{"content-range", fmt::format("bytes {}-35/36", request.range->offset)}};
    reply.body = f.content.substr(request.range->offset);
    return reply;
  };
  CHECK(f.read_well({4, 9}) == "456789abc");
  CHECK(f.read_well({0, 7}) == "0123456");
}

TEST_CASE("the whole file as 200 is taken when the whole was asked for") {
  Fixture f;
  for (const bool announced : {true, false}) {
    f.storage_reply = [&](const net::Request&) {
      Reply reply{.status = 200, .body = f.content};
      if (announced) reply.headers.emplace_back("content-length", "36");
      return reply;
    };
    CHECK(f.read_well({0, 36}) == f.content);
  }
}

TEST_CASE("how a read can end at the hub") {
  struct Row {
    std::string name;
    Reply reply;
    ReadEnd end;
    ErrorKind kind;
    std::optional<int> wait = std::nullopt;
  };
  const auto said = [](std::string name, std::string value) {
    return Reply{.status = 302,
                 .headers = {{"location", "https://cdn.test/x"}, {std::move(name), std::move(value)}}};
  };
  const auto coded = [](int status, std::string code) {
    return Reply{
        .status = status, .headers = {{"x-error-code", std::move(code)}}, .body = R"({"error":"no"})"};
  };
  const auto to = [](std::string location) {
    return Reply{.status = 302, .headers = {{"location", std::move(location)}}};
  };
  const std::vector<Row> rows{
      {"another commit", said("x-repo-commit", std::string(40, 'f')), ReadEnd::wrong_object,
       ErrorKind::integrity},
      {"another size", said("x-linked-size", "37"), ReadEnd::wrong_object, ErrorKind::integrity},
      {"another digest", said("x-linked-etag", std::string(64, 'f')), ReadEnd::wrong_object,
       ErrorKind::integrity},
      {"gated", coded(403, "GatedRepo"), ReadEnd::failed, ErrorKind::access},
      {"no such file", coded(404, "EntryNotFound"), ReadEnd::failed, ErrorKind::access},
      {"no such revision", coded(404, "RevisionNotFound"), ReadEnd::failed, ErrorKind::access},
      {"token invalid", coded(401, ""), ReadEnd::failed, ErrorKind::access},
      {"503", {.status = 503}, ReadEnd::interrupted, ErrorKind::network},
      {"429",
       {.status = 429, .headers = {{"ratelimit", "\"resolvers\";r=0;t=9"}}},
       ReadEnd::interrupted,
       ErrorKind::network,
       10},
      {"cut", {.status = 0, .end = net::TransferEnd::cut}, ReadEnd::interrupted, ErrorKind::network},
      {"to http", to("http://cdn.test/x"), ReadEnd::failed, ErrorKind::access},
      {"to a file", to("file:///etc/passwd"), ReadEnd::failed, ErrorKind::access},
      {"to itself for ever", to("/datasets/x"), ReadEnd::failed, ErrorKind::access},
      {"to nowhere", {.status = 302}, ReadEnd::failed, ErrorKind::access},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    Fixture f;
    f.hub_reply = row.reply;
    const auto outcome = f.read_badly();
    CHECK(static_cast<int>(outcome.end) == static_cast<int>(row.end));
    CHECK(to_string(outcome.problem.kind) == to_string(row.kind));
    CHECK(outcome.server_wait.has_value() == row.wait.has_value());
    if (outcome.server_wait && row.wait) CHECK(outcome.server_wait->count() == *row.wait);
    CHECK(f.storage_reads == 0);
    CHECK(f.transport.count() <= 6);
    f.hub_reply.reset();
    CHECK(f.read_well({0, 4}) == "0123");
  }
}

TEST_CASE("a small file comes from the hub itself in one request") {
  Fixture f;
  f.hub_reply = Reply{
      .status = 200, .headers = {{"content-length", "36"}, {"x-repo-commit", k_commit}}, .body = f.content};
  CHECK(f.read_well({0, 36}) == f.content);
  CHECK(f.transport.count() == 1);
  CHECK(f.transport.sent()[0].with_token);
}

TEST_CASE("a redirect within the hub keeps query and token") {
  Fixture f;
  FakeTransport transport{[&](const net::Request& request) {
    if (request.url.path_and_query.rfind("/api/resolve-cache/", 0) == 0) return f.piece(request);
    return Reply{.status = 307,
                 .headers = {{"location", "/api/resolve-cache/datasets/acme/rel/c/dir%2Fa?etag=%22x%22"}}};
  }};
  const auto repository =
      hub::open_hub({.endpoint = "https://hub.test",
                     .repo = "acme/rel",
                     .token = {.value = net::Secret{"hf_canary"}, .came_from = "HF_TOKEN"}},
                    transport, f.clock, f.stop);
  repository->pin({.repo = "acme/rel", .commit = k_commit});
  TextSink sink;
  CHECK(repository->objects().read(f.object(), {4, 4}, sink, f.stop).end == ReadEnd::complete);
  CHECK(sink.text == "4567");
  const auto sent = transport.sent();
  REQUIRE(sent.size() == 2);
  CHECK(sent[1].url == "https://hub.test/api/resolve-cache/datasets/acme/rel/c/dir%2Fa?etag=%22x%22");
  CHECK(sent[1].with_token);
  CHECK(repository->objects().read(f.object(), {8, 4}, sink, f.stop).end == ReadEnd::complete);
  CHECK(transport.count() == 3);
}

TEST_CASE("many readers of one file make one request to the hub") {
  Fixture f;
  std::atomic<bool> go{false};
  std::atomic<int> wrong{0};
  f.storage_reply = [&](const net::Request& request) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    return f.piece(request);
  };
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 12; ++t) {
    threads.emplace_back([&, t] {
      while (!go) std::this_thread::yield();
      TextSink sink;
      const auto outcome = f.read({t * 3, 3}, sink);
      if (outcome.end != ReadEnd::complete || sink.text != f.content.substr(t * 3, 3)) ++wrong;
    });
  }
  go = true;
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(f.resolves == 1);
  CHECK(f.storage_reads == 12);
}

TEST_CASE("those who waited for a place share its failure") {
  Fixture f;
  std::atomic<int> reading{0};
  std::atomic<int> interrupted{0};
  FakeTransport transport{[&](const net::Request&) {
    const auto end = std::chrono::steady_clock::now() + seconds{5};
    while (reading < 6 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds{100});
    return Reply{.status = 429, .headers = {{"retry-after", "7"}}};
  }};
  const auto repository =
      hub::open_hub({.endpoint = "https://hub.test", .repo = "acme/rel"}, transport, f.clock, f.stop);
  repository->pin({.repo = "acme/rel", .commit = k_commit});
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      TextSink sink;
      ++reading;
      const auto outcome = repository->objects().read(f.object(), {0, 4}, sink, f.stop);
      if (outcome.end == ReadEnd::interrupted && outcome.server_wait == seconds{7}) ++interrupted;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(interrupted == 6);
  CHECK(transport.count() == 1);
}

TEST_CASE("a reader that throws leaves the way free for the next") {
  Fixture f;
  struct Throwing final : ByteSink {
    void write(Bytes) override { throw std::runtime_error{"disk full"}; }
  } throwing;
  CHECK_THROWS_WITH(f.repository->objects().read(f.object(), {0, 4}, throwing, f.stop), "disk full");
  CHECK(f.read_well({0, 4}) == "0123");
  CHECK(f.resolves == 1);  // the place had been found

  Fixture g;
  bool first = true;
  FakeTransport transport{[&](const net::Request& request) {
    if (std::exchange(first, false)) throw std::runtime_error{"broken"};
    return g.answer(request);
  }};
  const auto repository =
      hub::open_hub({.endpoint = "https://hub.test", .repo = "acme/rel"}, transport, g.clock, g.stop);
  repository->pin({.repo = "acme/rel", .commit = k_commit});
  TextSink sink;
  CHECK_THROWS_WITH(repository->objects().read(g.object(), {0, 4}, sink, g.stop), "broken");
  CHECK(repository->objects().read(g.object(), {0, 4}, sink, g.stop).end == ReadEnd::complete);
}

TEST_CASE("a stop request is passed on") {
  Fixture f;
  f.stop.request(SIGINT);
  TextSink sink;
  CHECK_THROWS_AS(f.read({0, 4}, sink), Interrupted);
}

TEST_CASE("thousands of files do not grow what is remembered without bound") {
  Fixture f;
  TextSink sink;
  for (int i = 0; i < 2000; ++i) {
    auto object = f.object();
    object.path = fs::RelPath::require(fmt::format("f{}", i), "test");
    CHECK(f.repository->objects().read(object, {0, 1}, sink, f.stop).end == ReadEnd::complete);
  }
  CHECK(sink.text.size() == 2000);
}
