// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "decant/net/transport.hpp"
#include "raw_server.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::net;
using decant::test::RawServer;
using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

namespace {

// What a server waits that is to be left long before.
constexpr milliseconds k_long_pause{20'000};

constexpr std::string_view k_token = "hf_canaryCANARYcanary";

struct Got {
  Outcome outcome;
  std::string body;
  int heads = 0;
  int status_at_head = 0;
};

Got get(Transport& transport, const Request& request, const Stop& stop = {}) {
  Got got;
  const BodySink sink{.on_head =
                          [&](const ResponseHead& head) {
                            ++got.heads;
                            got.status_at_head = head.status;
                            CHECK(got.body.empty());
                            return true;
                          },
                      .on_body =
                          [&](Bytes bytes) {
                            got.body += as_text(bytes);
                            return true;
                          }};
  got.outcome = transport.perform(request, sink, stop);
  return got;
}

Request to(const RawServer& server, std::string_view path = "/x?signature=secret") {
  return {.url = *parse_url(server.origin() + std::string{path})};
}

RawServer serving(std::string_view bytes) {
  return RawServer{
      [bytes = std::string{bytes}](const std::string&, RawServer::Peer& peer) { peer.send(bytes); }};
}

RawServer serving_then_closing(std::string_view bytes) {
  return RawServer{[bytes = std::string{bytes}](const std::string&, RawServer::Peer& peer) {
    peer.send(bytes);
    peer.close();
  }};
}

bool has_line(const std::string& request, std::string_view line) {
  return request.find("\r\n" + std::string{line} + "\r\n") != std::string::npos;
}

}  // namespace

TEST_CASE("an answer arrives with its head and its body") {
  RawServer server =
      serving("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-One: a\r\nx-one: b\r\nX-Two:  c \r\n\r\nhello");
  const auto transport = make_curl_transport({.user_agent = "decant/test"});
  const Got got = get(*transport, to(server));
  CHECK(got.outcome.end == TransferEnd::complete);
  CHECK(got.outcome.head.status == 200);
  CHECK(got.outcome.head.header("x-one") == "a");
  CHECK(got.outcome.head.header("x-two") == "c");
  CHECK(got.outcome.head.header("x-three").empty());
  CHECK(got.outcome.received == 5);
  CHECK(got.outcome.detail.empty());
  CHECK(got.body == "hello");
  CHECK(got.heads == 1);
  const std::string request = server.requests().at(0);
  CHECK(request.rfind("GET /x?signature=secret HTTP/1.1\r\n", 0) == 0);
  CHECK(has_line(request, "Accept-Encoding: identity"));
  CHECK(has_line(request, "User-Agent: decant/test"));
  CHECK(request.find("Range:") == std::string::npos);
  CHECK(request.find("Authorization") == std::string::npos);
  CHECK(request.find("Cookie") == std::string::npos);
}

TEST_CASE("the path travels as it is") {
  RawServer server = serving("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  const auto transport = make_curl_transport({});
  for (const std::string path : {"/a/../b/./c", "/a%2Fb?etag=%22x%22", "/a//b"}) {
    get(*transport, to(server, path));
    CHECK(server.requests().back().rfind("GET " + path + " HTTP/1.1\r\n", 0) == 0);
  }
}

TEST_CASE("a range is bounded, a POST carries its body, a HEAD has none") {
  RawServer server{[](const std::string& request, RawServer::Peer& peer) {
    peer.send("HTTP/1.1 206 Partial\r\nContent-Length: 3\r\n\r\n");
    if (request.rfind("HEAD", 0) != 0) peer.send("abc");
  }};
  const auto transport = make_curl_transport({});

  Request request = to(server);
  request.range = ByteRange{.offset = 10, .length = 3};
  CHECK(get(*transport, request).body == "abc");
  CHECK(has_line(server.requests().back(), "Range: bytes=10-12"));

  request = to(server);
  request.method = Method::post;
  request.body = R"({"paths":[]})";
  request.content_type = "application/json";
  CHECK(get(*transport, request).outcome.end == TransferEnd::complete);
  CHECK(has_line(server.requests().back(), "Content-Type: application/json"));
  CHECK(has_line(server.requests().back(), "Content-Length: 12"));
  CHECK(server.requests().back().find("\r\n\r\n" + request.body) != std::string::npos);

  request.body = std::string(2 << 20, 'p');
  get(*transport, request);
  CHECK(server.requests().back().find("Expect") == std::string::npos);

  request = to(server);
  request.method = Method::head;
  const Got got = get(*transport, request);
  CHECK(got.outcome.end == TransferEnd::complete);
  CHECK(got.body.empty());
  CHECK(got.heads == 1);
  CHECK(server.requests().back().rfind("HEAD ", 0) == 0);
}

TEST_CASE("a redirect is not followed") {
  RawServer server = serving("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 2\r\n\r\nhi");
  const auto transport = make_curl_transport({});
  const Got got = get(*transport, to(server));
  CHECK(got.outcome.head.status == 302);
  CHECK(got.outcome.head.header("location") == "/elsewhere");
  CHECK(server.requests().size() == 1);
}

TEST_CASE("the token goes to its origin only, as bearer and as cookie") {
  RawServer server = serving("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: m_session_id=x\r\n\r\n");
  RawServer other = serving("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  const auto transport = make_curl_transport({});
  Request request = to(server);
  const bool as_bearer = GENERATE(true, false);
  const bool as_cookie = GENERATE(true, false);
  if (as_bearer) request.bearer = Secret{std::string{k_token}};
  if (as_cookie) request.cookie = {.name = "m_session_id", .value = Secret{std::string{k_token}}};
  request.secret_origin = request.url.origin;
  CHECK(request.carries_secret() == (as_bearer || as_cookie));

  get(*transport, request);
  CHECK(has_line(server.requests().back(), "Authorization: Bearer " + std::string{k_token}) == as_bearer);
  CHECK(has_line(server.requests().back(), "Cookie: m_session_id=" + std::string{k_token}) == as_cookie);

  SECTION("another port") {
    request.url = to(other).url;
  }
  SECTION("another name of the same host") {
    request.secret_origin.host = "localhost";
  }
  SECTION("another scheme") {
    request.secret_origin.scheme = "https";
  }
  SECTION("no origin named") {
    request.secret_origin = {};
  }
  CHECK_FALSE(request.carries_secret());
  for (int i = 0; i < 3; ++i) get(*transport, request);
  for (const auto& text : other.requests()) CHECK(text.find("canary") == std::string::npos);
  const auto sent = server.requests();
  for (std::size_t i = 1; i < sent.size(); ++i) {
    CHECK(sent[i].find("canary") == std::string::npos);
    CHECK(sent[i].find("Cookie:") == std::string::npos);  // nor what the server set
  }
}

TEST_CASE("a header line cannot be smuggled in") {
  RawServer server = serving("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  const auto transport = make_curl_transport({});
  Request request = to(server);
  request.headers = {{"X-A", "b\r\nX-Evil: 1"}};
  CHECK_THROWS_AS(get(*transport, request), Error);
  request.headers.clear();
  request.bearer = Secret{"hf_x\r\nX-Evil: 1"};
  request.secret_origin = request.url.origin;
  CHECK_THROWS_AS(get(*transport, request), Error);
  request.bearer = {};
  request.cookie = {.name = "a", .value = Secret{"x\r\nX-Evil: 1"}};
  CHECK_THROWS_AS(get(*transport, request), Error);
  request.cookie = {.name = "a\r\nX-Evil: 1", .value = Secret{"x"}};
  CHECK_THROWS_AS(get(*transport, request), Error);
  CHECK(server.requests().empty());
}

TEST_CASE("transfers that do not end well say how") {
  struct Row {
    std::string name;
    std::string bytes;
    TransferEnd end;
    int status;
    std::string body;
  };
  const std::vector<Row> rows{
      {"body shorter than announced", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", TransferEnd::cut,
       200, "hello"},
      {"cut in the head", "HTTP/1.1 200 OK\r\nContent-Le", TransferEnd::cut, 0, ""},
      {"closed without an answer", "", TransferEnd::cut, 0, ""},
      {"cut in a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nhel", TransferEnd::cut,
       200, "hel"},
      {"chunks without an end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n",
       TransferEnd::cut, 200, "hel"},
      {"no length, closed", "HTTP/1.1 200 OK\r\n\r\nhello", TransferEnd::complete, 200, "hello"},
      {"not HTTP", "SSH-2.0-OpenSSH_9.2\r\n\r\n", TransferEnd::protocol, 0, ""},
      {"gzip unasked", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
       TransferEnd::protocol, 200, ""},
      {"identity encoding", "HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Length: 3\r\n\r\nabc",
       TransferEnd::complete, 200, "abc"},
      {"an error page in gzip", "HTTP/1.1 503 Busy\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
       TransferEnd::complete, 503, ""},
      {"407", "HTTP/1.1 407 Proxy\r\nContent-Length: 0\r\n\r\n", TransferEnd::proxy, 407, ""},
      {"headers without end", "HTTP/1.1 200 OK\r\n" + std::string(200'000, 'x'), TransferEnd::protocol, 0,
       ""},
      {"too many headers",
       [] {
         std::string text = "HTTP/1.1 200 OK\r\n";
         for (int i = 0; i < 3000; ++i) text += "X-Filler: " + std::string(60, 'f') + "\r\n";
         return text + "Content-Length: 0\r\n\r\n";
       }(),
       TransferEnd::protocol, 0, ""},
      {"continue first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
       TransferEnd::complete, 200, "ok"},
      {"early hints first",
       "HTTP/1.1 103 Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
       TransferEnd::complete, 200, "ok"},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    RawServer server = serving_then_closing(row.bytes);
    const auto transport = make_curl_transport({});
    const Got got = get(*transport, to(server));
    CHECK(to_string(got.outcome.end) == to_string(row.end));
    CHECK(got.outcome.head.status == row.status);
    CHECK(got.body == row.body);
    CHECK(got.outcome.received == row.body.size());
    CHECK(got.outcome.detail.find("secret") == std::string::npos);
    CHECK(got.outcome.detail.empty() == (row.end == TransferEnd::complete || row.end == TransferEnd::proxy));
  }
}

TEST_CASE("a reset connection counts as cut") {
  RawServer server{[](const std::string&, RawServer::Peer& peer) {
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc");
    peer.pause(50);
    peer.reset();
  }};
  const auto transport = make_curl_transport({});
  const Got got = get(*transport, to(server));
  CHECK(got.outcome.end == TransferEnd::cut);
  CHECK(got.body == "abc");
}

TEST_CASE("nobody listening is no connection") {
  std::string gone;
  { gone = serving("").origin(); }
  const auto transport = make_curl_transport({});
  const Got got = get(*transport, {.url = *parse_url(gone + "/x?signature=secret")});
  CHECK(got.outcome.end == TransferEnd::no_connect);
  CHECK(got.outcome.head.status == 0);
  CHECK(got.heads == 0);
  CHECK_FALSE(got.outcome.detail.empty());
}

TEST_CASE("a name that does not exist is no connection, however often it is tried") {
  const auto transport = make_curl_transport({.connect_timeout = milliseconds{3000}});
  for (int tries = 0; tries < 3; ++tries) {
    const Got got = get(*transport, {.url = *parse_url("http://no-such-host.invalid/x")});
    // A proxy in the environment answers in its own way.
    if (std::getenv("http_proxy") == nullptr) CHECK(got.outcome.end == TransferEnd::no_connect);
  }
}

TEST_CASE("plain HTTP where TLS is expected is a TLS failure") {
  RawServer server = serving_then_closing("HTTP/1.1 400 Bad\r\n\r\n");
  const auto transport = make_curl_transport({});
  Request request = to(server);
  request.url.origin.scheme = "https";
  CHECK(get(*transport, request).outcome.end == TransferEnd::tls);
}

TEST_CASE("a server that stops sending is left after the stall timeout") {
  const auto transport = make_curl_transport({.stall_timeout = milliseconds{300}});
  const auto timed = [&](RawServer& server) {
    const auto start = SteadyClock::now();
    const Got got = get(*transport, to(server));
    CHECK(got.outcome.end == TransferEnd::stalled);
    CHECK(SteadyClock::now() - start >= milliseconds{300});
    CHECK(SteadyClock::now() - start < k_long_pause);
    return got.body.size();
  };
  SECTION("before the head") {
    RawServer server{[](const std::string&, RawServer::Peer& peer) {
      peer.pause(static_cast<int>(k_long_pause.count()));
    }};
    timed(server);
  }
  SECTION("in the body") {
    RawServer server{[](const std::string&, RawServer::Peer& peer) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + std::string(5000, 'x'));
      peer.pause(static_cast<int>(k_long_pause.count()));
    }};
    CHECK(timed(server) == 5000);
  }
  SECTION("a trickle") {
    RawServer server{[](const std::string&, RawServer::Peer& peer) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
      constexpr milliseconds k_step{50};
      for (milliseconds sent{0}; sent < k_long_pause && peer.open(); sent += k_step) {
        peer.send("x");
        peer.pause(static_cast<int>(k_step.count()));
      }
    }};
    timed(server);
  }
}

TEST_CASE("a slow reader is not taken for a slow server") {
  RawServer server{[](const std::string&, RawServer::Peer& peer) {
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 6000\r\n\r\n");
    for (int i = 0; i < 3; ++i) {
      peer.send(std::string(2000, 'x'));
      peer.pause(50);
    }
  }};
  const auto transport = make_curl_transport({.stall_timeout = milliseconds{200}});
  std::size_t bytes = 0;
  const Outcome outcome = transport->perform(to(server),
                                             {.on_head = [](const ResponseHead&) { return true; },
                                              .on_body =
                                                  [&](Bytes piece) {
                                                    std::this_thread::sleep_for(milliseconds{300});
                                                    bytes += piece.size();
                                                    return true;
                                                  }},
                                             Stop{});
  CHECK(outcome.end == TransferEnd::complete);
  CHECK(bytes == 6000);
}

TEST_CASE("a steady slow stream above the limit is left alone") {
  RawServer server{[](const std::string&, RawServer::Peer& peer) {
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 8000\r\n\r\n");
    for (int i = 0; i < 16; ++i) {
      peer.send(std::string(500, 'x'));
      peer.pause(50);
    }
  }};
  const auto transport = make_curl_transport({.stall_timeout = milliseconds{250}});
  CHECK(get(*transport, to(server)).outcome.end == TransferEnd::complete);
}

TEST_CASE("a stop request ends a transfer that waits") {
  RawServer server{
      [](const std::string&, RawServer::Peer& peer) { peer.pause(static_cast<int>(k_long_pause.count())); }};
  const auto transport = make_curl_transport({});
  Stop stop;
  std::thread signal{[&] {
    std::this_thread::sleep_for(milliseconds{100});
    stop.request(SIGTERM);
  }};
  const auto start = SteadyClock::now();
  try {
    get(*transport, to(server), stop);
    FAIL("not interrupted");
  } catch (const Interrupted& interrupted) {
    CHECK(interrupted.signal == SIGTERM);
  }
  signal.join();
  CHECK(SteadyClock::now() - start < k_long_pause);
  CHECK_THROWS_AS(get(*transport, to(server), stop), Interrupted);
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a sink that has enough, or throws, ends the transfer") {
  RawServer server = serving("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  const auto transport = make_curl_transport({});
  const auto yes = [](const ResponseHead&) { return true; };

  Outcome outcome = transport->perform(
      to(server),
      {.on_head = [](const ResponseHead&) { return false; }, .on_body = [](Bytes) { return true; }}, Stop{});
  CHECK(outcome.end == TransferEnd::sink_stopped);
  CHECK(outcome.head.status == 200);
  CHECK(outcome.received == 0);

  outcome = transport->perform(to(server), {.on_head = yes, .on_body = [](Bytes) { return false; }}, Stop{});
  CHECK(outcome.end == TransferEnd::sink_stopped);

  const auto throwing = [](Bytes) -> bool { throw std::runtime_error{"disk full"}; };
  CHECK_THROWS_WITH(transport->perform(to(server), {.on_head = yes, .on_body = throwing}, Stop{}),
                    "disk full");
  const auto throwing_head = [](const ResponseHead&) -> bool { throw Interrupted{SIGINT}; };
  CHECK_THROWS_AS(transport->perform(to(server), {.on_head = throwing_head}, Stop{}), Interrupted);

  CHECK(get(*transport, to(server)).body == "hello");  // none of it did harm
}

TEST_CASE("connections are used again") {
  RawServer server = serving("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  RawServer other = serving("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother");
  const auto transport = make_curl_transport({});
  for (int i = 0; i < 10; ++i) {
    CHECK(get(*transport, to(server)).body == "hello");
    CHECK(get(*transport, to(other)).body == "other");
  }
  CHECK(server.connections() == 1);
  CHECK(other.connections() == 1);
}

TEST_CASE("many threads transfer at once") {
  RawServer server{[](const std::string& request, RawServer::Peer& peer) {
    const std::string path = request.substr(4, request.find(' ', 4) - 4);
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(path.size()) + "\r\n\r\n" + path);
  }};
  const auto transport = make_curl_transport({});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const std::string path = "/" + std::to_string(t) + "/" + std::to_string(i);
        std::string body;
        transport->perform(to(server, path),
                           {.on_head = [](const ResponseHead&) { return true; },
                            .on_body =
                                [&](Bytes bytes) {
                                  body += as_text(bytes);
                                  return true;
                                }},
                           Stop{});
        if (body != path) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(server.connections() <= 8);
}

TEST_CASE("loopback is reached without a proxy") {
  RawServer server = serving("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  RawServer proxy = serving("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nproxy");
  ::setenv("http_proxy", proxy.origin().c_str(), 1);
  const auto transport = make_curl_transport({});
  CHECK(get(*transport, to(server)).body == "hello");
  const Got got = get(*transport, {.url = *parse_url("http://proxied.invalid/x")});
  CHECK(got.body == "proxy");
  ::unsetenv("http_proxy");
}

TEST_CASE("a proxy that refuses is told from one that cannot reach the server") {
  struct Row {
    std::string answer;
    TransferEnd end;
  };
  const std::vector<Row> rows{
      {"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", TransferEnd::proxy},
      {"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", TransferEnd::proxy},
      {"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", TransferEnd::no_connect},
      {"HTTP/1.1 200 OK\r\n\r\nno TLS", TransferEnd::tls},
  };
  for (const auto& row : rows) {
    INFO(row.answer);
    RawServer proxy{[&](const std::string&, RawServer::Peer& peer) {
      peer.send(row.answer);
      peer.close();
    }};
    ::setenv("https_proxy", ("http://user:proxypass@" + proxy.origin().substr(7)).c_str(), 1);
    const auto transport = make_curl_transport({});
    Request request{.url = *parse_url("https://proxied.invalid/x")};
    request.bearer = Secret{std::string{k_token}};
    request.secret_origin = request.url.origin;
    const Got got = get(*transport, request);
    CHECK(to_string(got.outcome.end) == to_string(row.end));
    CHECK(got.heads == 0);
    CHECK(got.outcome.head.status == 0);
    CHECK(got.outcome.detail.find("proxypass") == std::string::npos);
    for (const auto& text : proxy.requests()) CHECK(text.find("canary") == std::string::npos);
    ::unsetenv("https_proxy");
  }
}
