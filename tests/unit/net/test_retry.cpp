// SPDX-License-Identifier: Apache-2.0
#include "decant/net/retry.hpp"

#include <csignal>

#include "fakes.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::net;
using decant::test::FakeClock;
using decant::test::FakeTransport;
using decant::test::Reply;
using std::chrono::seconds;

TEST_CASE("an answer is judged by how it ended, then by its status") {
  struct Row {
    TransferEnd end;
    int status;
    Judgement judgement;
  };
  std::vector<Row> rows;
  for (const int status : {200, 204, 206, 301, 302, 307, 308}) {
    rows.push_back({TransferEnd::complete, status, Judgement::ok});
    rows.push_back({TransferEnd::sink_stopped, status, Judgement::ok});
  }
  for (const int status : {408, 425, 429, 500, 502, 503, 504}) {
    rows.push_back({TransferEnd::complete, status, Judgement::retry});
    rows.push_back({TransferEnd::sink_stopped, status, Judgement::retry});
  }
  for (const int status : {0, 100, 400, 401, 403, 404, 410, 416, 451, 501, 505}) {
    rows.push_back({TransferEnd::complete, status, Judgement::give_up});
  }
  for (const int status : {0, 200, 206, 503}) {
    rows.push_back({TransferEnd::cut, status, Judgement::retry});
    rows.push_back({TransferEnd::stalled, status, Judgement::retry});
  }
  rows.push_back({TransferEnd::no_connect, 0, Judgement::retry});
  rows.push_back({TransferEnd::tls, 0, Judgement::give_up});
  rows.push_back({TransferEnd::proxy, 407, Judgement::give_up});
  rows.push_back({TransferEnd::protocol, 200, Judgement::give_up});
  for (const auto& row : rows) {
    INFO(to_string(row.end) << ' ' << row.status);
    CHECK(judge({.end = row.end, .head = {.status = row.status}}) == row.judgement);
  }
}

TEST_CASE("the server's wish to wait is read from RateLimit and Retry-After") {
  constexpr std::int64_t k_now = 784'111'770;  // Sun, 06 Nov 1994 08:49:30 GMT
  struct Row {
    std::string name;
    std::vector<std::pair<std::string, std::string>> headers;
    std::optional<std::int64_t> wait;
  };
  const std::vector<Row> rows{
      {"nothing", {}, std::nullopt},
      {"seconds", {{"retry-after", "7"}}, 7},
      {"zero", {{"retry-after", "0"}}, 0},
      {"spaces around", {{"retry-after", " 7 "}}, 7},
      {"very long", {{"retry-after", "1000000000"}}, 31'622'400},
      {"longer than any integer", {{"retry-after", std::string(60, '9')}}, 31'622'400},
      {"negative", {{"retry-after", "-5"}}, std::nullopt},
      {"a fraction", {{"retry-after", "1.5"}}, std::nullopt},
      {"words", {{"retry-after", "soon"}}, std::nullopt},
      {"empty", {{"retry-after", ""}}, std::nullopt},
      {"IMF date", {{"retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"}}, 7},
      {"RFC 850 date", {{"retry-after", "Sunday, 06-Nov-94 08:49:37 GMT"}}, 7},
      {"asctime date", {{"retry-after", "Sun Nov  6 08:49:37 1994"}}, 7},
      {"a date in the past", {{"retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"}}, 0},
      {"a date far away", {{"retry-after", "Sun, 06 Nov 2094 08:00:00 GMT"}}, 31'622'400},
      {"exhausted bucket", {{"ratelimit", "\"api\";r=0;t=55"}}, 56},
      {"bucket with something left", {{"ratelimit", "\"api\";r=3;t=55"}}, std::nullopt},
      {"bucket wins", {{"ratelimit", "\"api\";r=0;t=55"}, {"retry-after", "7"}}, 56},
      {"Retry-After beside a full bucket", {{"ratelimit", "\"api\";r=3;t=55"}, {"retry-after", "7"}}, 7},
      {"two buckets", {{"ratelimit", "\"api\";r=9;t=55, \"resolvers\"; r=0; t=2"}}, 3},
      {"the longer of two", {{"ratelimit", "\"api\";r=0;t=55, \"resolvers\";r=0;t=2"}}, 56},
      {"a bucket without a time", {{"ratelimit", "\"api\";r=0"}}, std::nullopt},
      {"bucket nonsense", {{"ratelimit", ";;;r=x;t=-"}}, std::nullopt},
  };
  for (const auto& row : rows) {
    INFO(row.name);
    const auto wait = server_wait({.status = 429, .headers = row.headers}, k_now);
    CHECK(wait.has_value() == row.wait.has_value());
    if (wait && row.wait) CHECK(wait->count() == *row.wait);
  }
}

namespace {

Request any_request() {
  return {.url = *parse_url("https://hub/api?x=secret")};
}

// Answers with the replies in order, the last one for ever.
FakeTransport in_order(std::vector<Reply> replies) {
  auto next = std::make_shared<std::size_t>(0);
  return FakeTransport{[replies = std::move(replies), next](const Request&) {
    const std::size_t index = std::min(*next, replies.size() - 1);
    ++*next;
    return replies[index];
  }};
}

}  // namespace

TEST_CASE("a small request is tried again until it works, and says what it waits for") {
  FakeClock clock;
  Stop stop;
  std::vector<std::string> said;
  FakeTransport transport = in_order({{.status = 503},
                                      {.status = 0, .end = TransferEnd::no_connect, .detail = "refused"},
                                      {.status = 429, .headers = {{"retry-after", "7"}}},
                                      {.status = 200, .body = "yes"}});
  RetryingFetcher fetcher{transport, clock, {}, [&](std::string_view text) { said.emplace_back(text); }};
  const auto fetched = fetcher.fetch(any_request(), 100, stop);
  CHECK(fetched.body == "yes");
  CHECK(transport.count() == 4);
  const auto sleeps = clock.sleeps();
  REQUIRE(sleeps.size() == 3);
  CHECK(sleeps[0] <= seconds{1});
  CHECK(sleeps[1] <= seconds{2});
  CHECK((sleeps[2] >= seconds{7} && sleeps[2] <= seconds{8}));
  REQUIRE(said.size() == 4);
  CHECK(said[0].find("HTTP 503") != std::string::npos);
  CHECK(said[1].find("refused") != std::string::npos);
  CHECK(said[2].find("429") != std::string::npos);
  CHECK(said[3].empty());
  for (const auto& text : said) CHECK(text.find("secret") == std::string::npos);
}

TEST_CASE("a small request that never works ends with its last outcome") {
  FakeClock clock;
  Stop stop;
  FakeTransport transport = in_order({{.status = 500, .body = "down"}});
  RetryingFetcher fetcher{transport, clock, {.max_tries_without_progress = 3}, {}};
  const auto fetched = fetcher.fetch(any_request(), 100, stop);
  CHECK(fetched.outcome.head.status == 500);
  CHECK(fetched.body == "down");
  CHECK(transport.count() == 3);
}

TEST_CASE("a service that says in the body what the status should say is understood before it is judged") {
  FakeClock clock;
  Stop stop;
  std::vector<std::string> said;
  FakeTransport transport = in_order({{.status = 200, .body = "busy"}, {.status = 200, .body = "yes"}});
  const auto translate = [](FetchedBody& fetched) {
    if (fetched.body == "busy") fetched.outcome.head.status = 503;
  };
  RetryingFetcher fetcher{
      transport, clock, {}, [&](std::string_view text) { said.emplace_back(text); }, translate};
  CHECK(fetcher.fetch(any_request(), 100, stop).body == "yes");
  CHECK(transport.count() == 2);
  REQUIRE(said.size() == 2);
  CHECK(said[0].find("HTTP 503") != std::string::npos);
}

TEST_CASE("a refusal is not tried again") {
  FakeClock clock;
  Stop stop;
  FakeTransport transport = in_order({{.status = 403}});
  RetryingFetcher fetcher{transport, clock, {}, {}};
  CHECK(fetcher.fetch(any_request(), 100, stop).outcome.head.status == 403);
  CHECK(transport.count() == 1);
  CHECK(clock.sleeps().empty());
}

TEST_CASE("a stop request ends the waiting") {
  FakeClock clock;
  Stop stop;
  FakeTransport transport{[&](const Request&) {
    stop.request(SIGINT);
    return Reply{.status = 503};
  }};
  RetryingFetcher fetcher{transport, clock, {}, {}};
  CHECK_THROWS_AS(fetcher.fetch(any_request(), 100, stop), Interrupted);
  CHECK(transport.count() == 1);
}

TEST_CASE("a body in memory has a limit") {
  Stop stop;
  FakeTransport transport = in_order({{.status = 200, .body = std::string(100, 'x')}});
  CHECK(fetch_body(transport, any_request(), 100, stop).body.size() == 100);
  const auto fetched = fetch_body(transport, any_request(), 99, stop);
  CHECK(fetched.too_large);
  CHECK(fetched.outcome.end == TransferEnd::protocol);
  CHECK(fetched.outcome.head.status == 200);
  CHECK(fetched.body.size() <= 99);
}

TEST_CASE("the limit of a body does not stand in the way of an error page or a redirect") {
  Stop stop;
  for (const int status : {302, 403, 503}) {
    INFO(status);
    FakeTransport transport = in_order({{.status = status, .body = std::string(200, 'x')}});
    const auto fetched = fetch_body(transport, any_request(), 5, stop);
    CHECK(fetched.outcome.end == TransferEnd::complete);
    CHECK_FALSE(fetched.too_large);
    CHECK(fetched.body.size() == 200);
  }
  FakeTransport transport = in_order({{.status = 503, .body = std::string(300'000, 'x')}});
  const auto fetched = fetch_body(transport, any_request(), 5, stop);
  CHECK(judge(fetched.outcome) == Judgement::retry);
  CHECK_FALSE(fetched.too_large);
  CHECK(fetched.body.size() == 65536);
}
