// SPDX-License-Identifier: Apache-2.0
#include <chrono>

#include "support/catch.hpp"
#include "support/test_hub.hpp"
#include "unit/test_hub/raw_client.hpp"

using namespace decant::test;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

struct Fixture {
  TestHub hub;
  TestRepo& repo = hub.add_repo({.id = "org/name"});
  Content content = Content::generated(3, 1'000'000);
  std::string commit = repo.add_commit({{"big", content, Store::lfs}, {"small", "small text"}});
  std::string text = content.text();
  std::string url = RawClient::get(hub.endpoint() + "/datasets/org/name/resolve/main/big").header("Location");
  std::string small = hub.endpoint() + "/datasets/org/name/resolve/main/small";

  RawAnswer range(std::uint64_t first, std::uint64_t last) const {
    return RawClient::get(url, {{"Range", "bytes=" + std::to_string(first) + "-" + std::to_string(last)}});
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a body is cut after exactly so many bytes") {
  for (const auto how : {CutWith::reset, CutWith::fin}) {
    for (const std::uint64_t at : {0U, 1U, 262'144U, 300'000U, 999'999U}) {
      INFO(at << (how == CutWith::reset ? " reset" : " fin"));
      hub.add_fault({.where = Where::cdn, .path = "big", .cut_after = at, .cut = how});
      const auto answer = RawClient::get(url);
      CHECK(answer.status == 200);
      CHECK_FALSE(answer.complete);
      CHECK(answer.reset == (how == CutWith::reset));
      CHECK(answer.body == text.substr(0, at));
    }
  }
  CHECK(RawClient::get(url).body == text);
}

TEST_CASE_METHOD(Fixture, "a stalled body goes on after its time, or when the hub ends") {
  hub.add_fault({.where = Where::cdn, .stall_after = 1000, .stall_for = milliseconds{50}});
  const auto begin = steady_clock::now();
  CHECK(RawClient::get(url).body == text);
  CHECK(steady_clock::now() - begin >= milliseconds{50});

  hub.add_fault({.where = Where::cdn, .stall_after = 1000});
  RawClient impatient{hub.cdn_origin(), 1000};
  const auto answer = impatient.send("GET", url.substr(hub.cdn_origin().size()));
  CHECK(answer.timed_out);
  CHECK(answer.body.size() == 1000);
}

TEST_CASE_METHOD(Fixture, "a trickle sends a little at a time") {
  hub.add_fault({.path = "small", .rate = 100});
  const auto begin = steady_clock::now();
  CHECK(RawClient::get(small).body == "small text");
  CHECK(steady_clock::now() - begin >= milliseconds{40});
}

TEST_CASE_METHOD(Fixture, "one byte is flipped in whatever range holds it") {
  hub.add_fault({.where = Where::cdn, .times = 2, .flip_at = 500'000});
  CHECK(range(0, 499'999).body == text.substr(0, 500'000));
  std::string damaged = text;
  damaged[500'000] = static_cast<char>(~damaged[500'000]);
  CHECK(range(400'000, 600'000).body == damaged.substr(400'000, 200'001));
  CHECK(RawClient::get(url).body == damaged);
  CHECK(RawClient::get(url).body == text);
}

TEST_CASE_METHOD(Fixture, "a range may be ignored or answered with wrong headers") {
  hub.add_fault({.where = Where::cdn, .ignore_range = true});
  const auto whole = range(10, 19);
  CHECK(whole.status == 200);
  CHECK(whole.body == text);
  hub.add_fault({.where = Where::cdn, .headers = {{"Content-Range", "bytes 0-9/77"}, {"ETag", ""}}});
  const auto wrong = range(10, 19);
  CHECK(wrong.status == 206);
  CHECK(wrong.header("Content-Range") == "bytes 0-9/77");
  CHECK(wrong.header("ETag").empty());
}

TEST_CASE_METHOD(Fixture, "a body may be longer, shorter, or of no stated length") {
  hub.add_fault({.path = "small", .resize = 3});
  CHECK(RawClient::get(small).body == std::string{"small text\0\0\0", 13});
  hub.add_fault({.path = "small", .resize = -3});
  CHECK(RawClient::get(small).body == "small t");
  hub.add_fault({.path = "small", .no_length = true});
  const auto open = RawClient::get(small);
  CHECK(open.header("Content-Length").empty());
  CHECK(open.body == "small text");
  hub.add_fault({.path = "small", .cut_after = 5, .cut = CutWith::fin, .no_length = true});
  CHECK(RawClient::get(small).body == "small");
}

TEST_CASE_METHOD(Fixture, "a cut may be told by the byte of the object") {
  hub.add_fault({.where = Where::cdn, .times = 2, .cut_after = 500'000, .at_object = true});
  CHECK(range(0, 499'999).body == text.substr(0, 500'000));  // does not hold it
  for (const std::uint64_t first : {400'000U, 500'000U}) {
    const auto cut = range(first, 600'000);
    CHECK_FALSE(cut.complete);
    CHECK(cut.body == text.substr(first, 500'000 - first));
  }
  CHECK(range(400'000, 600'000).complete);
}

TEST_CASE_METHOD(Fixture, "a body may come in chunks, and anything in place of an answer") {
  hub.add_fault({.path = "small", .chunked = true});
  RawClient chunked{hub.endpoint(), 200};
  const auto answer = chunked.send("GET", small.substr(hub.endpoint().size()));
  CHECK(answer.header("Transfer-Encoding") == "chunked");
  CHECK(answer.header("Content-Length").empty());
  CHECK(answer.body == "a\r\nsmall text\r\n0\r\n\r\n");
  hub.add_fault({.path = "small", .raw = "HTTP/1.1 299 Odd\r\n\r\nodd"});
  CHECK(RawClient::get(small).status == 299);
}

TEST_CASE_METHOD(Fixture, "an answer is replaced by a status, headers and a body") {
  hub.add_fault(
      {.where = Where::hub, .times = 2, .status = 429, .headers = {{"Retry-After", "7"}}, .body = "later"});
  for (int i = 0; i < 2; ++i) {
    const auto answer = RawClient::get(small);
    CHECK(answer.status == 429);
    CHECK(answer.header("Retry-After") == "7");
    CHECK(answer.body == "later");
  }
  CHECK(RawClient::get(small).status == 200);
}

TEST_CASE_METHOD(Fixture, "a connection ends before the answer") {
  hub.add_fault({.path = "small", .cut = CutWith::fin, .close_before_answer = true});
  const auto closed = RawClient::get(small);
  CHECK(closed.status == 0);
  CHECK_FALSE(closed.reset);
  hub.add_fault({.path = "small", .close_before_answer = true});
  CHECK(RawClient::get(small).reset);
}

TEST_CASE_METHOD(Fixture, "a redirect goes anywhere and keeps the other headers") {
  hub.add_fault({.path = "small", .redirect_to = "ftp://127.0.0.1/x"});
  const auto answer = RawClient::get(small);
  CHECK(answer.status == 302);
  CHECK(answer.header("Location") == "ftp://127.0.0.1/x");
  CHECK(answer.header("X-Repo-Commit") == commit);
}

TEST_CASE_METHOD(Fixture, "other content comes with its own size and digest") {
  const Content other = "other content";
  hub.add_fault({.path = "big", .times = 2, .content = other});
  const auto resolved = RawClient::get(hub.endpoint() + "/datasets/org/name/resolve/main/big");
  CHECK(resolved.header("X-Linked-Size") == "13");
  CHECK(resolved.header("X-Linked-ETag") == "\"" + other.sha256() + "\"");
  CHECK(RawClient::get(resolved.header("Location")).body == "other content");
  hub.add_fault({.path = "small", .headers = {{"X-Repo-Commit", std::string(40, '0')}}});
  CHECK(RawClient::get(small).header("X-Repo-Commit") == std::string(40, '0'));
}

TEST_CASE_METHOD(Fixture, "connections are refused until the listener is back") {
  RawClient open{hub.cdn_origin()};
  REQUIRE(open.send("GET", url.substr(hub.cdn_origin().size())).status == 200);
  hub.refuse(Where::cdn);
  CHECK(open.send("GET", url.substr(hub.cdn_origin().size())).status == 0);
  CHECK(RawClient::get(url).refused);
  CHECK(RawClient::get(small).status == 200);
  hub.listen_again(Where::cdn);
  CHECK(RawClient::get(url).body == text);

  hub.add_fault({.where = Where::cdn, .refuse_for = std::chrono::minutes{10}});
  CHECK(RawClient::get(url).status == 0);
  CHECK(RawClient::get(url).refused);
  hub.listen_again(Where::cdn);
  CHECK(RawClient::get(url).body == text);

  hub.add_fault({.where = Where::cdn, .refuse_for = milliseconds{20}});
  CHECK(RawClient::get(url).status == 0);
  const auto begin = steady_clock::now();
  bool back = false;
  while (!back && steady_clock::now() - begin < std::chrono::seconds{20})
    back = RawClient::get(url).status == 200;
  CHECK(back);
}

TEST_CASE_METHOD(Fixture, "something is done at a certain request") {
  hub.add_fault({.path = "small", .skip = 1, .then = [&] { repo.add_commit({{"small", "changed"}}); }});
  CHECK(RawClient::get(small).body == "small text");
  CHECK(RawClient::get(small).body == "changed");
}

TEST_CASE_METHOD(Fixture, "rates hold for one connection and for all") {
  hub.set_rate(2'000'000, 0);
  auto begin = steady_clock::now();
  CHECK(range(0, 199'999).complete);
  CHECK(steady_clock::now() - begin >= milliseconds{45});
  hub.set_rate(0, 2'000'000);
  begin = steady_clock::now();
  CHECK(range(0, 99'999).complete);
  CHECK(range(0, 199'999).complete);
  CHECK(steady_clock::now() - begin >= milliseconds{80});
}
