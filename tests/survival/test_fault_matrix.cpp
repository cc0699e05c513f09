// SPDX-License-Identifier: Apache-2.0
// Ways of a network, a storage and a hub to go wrong, each when a download begins, when it goes on after a
// kill, and at its last byte.
#include "fault_matrix.hpp"
#include "support/catch.hpp"
#include "support/hub/http_message.hpp"

using namespace decant;
using namespace decant::test;

namespace {

using At = FaultCase::At;
using std::chrono::seconds;

const std::vector<std::string> k_impatient{"--stall-timeout", "300ms"};
constexpr std::uint64_t k_always = 0;

Fault status(int code, std::uint64_t times = 1, Headers headers = {}, std::string body = {}) {
  return {.times = times, .status = code, .headers = std::move(headers), .body = std::move(body)};
}

Fault redirect(std::string to) {
  return {.times = k_always, .redirect_to = std::move(to)};
}

// The storage refuses the URL it was given once, so that the hub is asked for another; there, this happens.
FaultCase at_hub(std::string name, Fault fault, int code, std::vector<std::string> words = {}) {
  fault.where = Where::hub;
  fault.path = "images_1";
  FaultCase one{
      .name = "hub: " + std::move(name), .fault = status(403), .code = code, .words = std::move(words)};
  one.after = {std::move(fault)};
  return one;
}

std::string hub_words(const std::string& text) {
  return R"({"error":")" + text + "\"}";
}

void check_all(const std::vector<FaultCase>& cases) {
  FaultMatrix matrix;
  for (const FaultCase& one : cases) matrix.check(one);
}

}  // namespace

TEST_CASE("broken connections are gone on with at the byte where they broke") {
  check_all({
      {.name = "cut by a reset", .fault = {}, .at = At::cut},
      {.name = "cut by an end", .fault = {.cut = CutWith::fin}, .at = At::cut},
      {.name = "cut five times at one byte", .fault = {.times = 5}, .at = At::cut},
      {.name = "cut there for ever",
       .fault = {.times = k_always},
       .at = At::cut,
       .code = 4,
       .words = {"images_1", "kept"}},
      {.name = "no answer three times", .fault = {.times = 3, .close_before_answer = true}},
      {.name = "an end in place of an answer",
       .fault = {.times = 3, .cut = CutWith::fin, .close_before_answer = true}},
      {.name = "no answer ever",
       .fault = {.times = k_always, .close_before_answer = true},
       .code = 4,
       .words = {"images_1"}},
      {.name = "connections refused for a while", .fault = {.refuse_for = std::chrono::milliseconds{1}}},
      {.name = "a stall", .fault = {}, .at = At::stall, .flags = k_impatient},
      {.name = "a trickle of a byte a second", .fault = {.rate = 1}, .flags = k_impatient},
      {.name = "a trickle above the limit of a stall, while others run", .fault = {.rate = 40'960}},
      {.name = "a body without a length", .fault = {.times = 4, .no_length = true}},
      {.name = "a body without a length, cut",
       .fault = {.cut = CutWith::fin, .no_length = true},
       .at = At::cut},
      {.name = "a body in chunks", .fault = {.times = 4, .chunked = true}},
      {.name = "a body in chunks, cut", .fault = {.cut = CutWith::fin, .chunked = true}, .at = At::cut},
      {.name = "a body shorter than the range", .fault = {.times = 2, .resize = -1}},
      {.name = "a body longer than the range", .fault = {.times = 2, .resize = 5000}},
      {.name = "a head that breaks off", .fault = {.raw = "HTTP/1.1 206 Partial Content\r\nContent-Ra"}},
  });
}

TEST_CASE("a storage that stumbles or asks to wait costs waits") {
  std::vector<FaultCase> cases;
  for (const int code : {408, 425, 429, 500, 502, 503, 504})
    cases.push_back({.name = std::to_string(code) + " three times", .fault = status(code, 3)});
  const auto asks = [&](std::string name, Headers headers, seconds least, seconds most) {
    FaultCase one{.name = std::move(name), .fault = status(429, 1, std::move(headers)), .waits = least};
    one.waits_at_most = most;
    cases.push_back(std::move(one));
  };
  asks("Retry-After: 7", {{"Retry-After", "7"}}, seconds{7}, seconds{9});
  asks("Retry-After: a date", {{"Retry-After", http_date(FastClock::k_wall + 9)}}, seconds{9}, seconds{11});
  asks("Retry-After: a date that is over", {{"Retry-After", http_date(FastClock::k_wall - 9)}}, seconds{0},
       seconds{2});
  asks("Retry-After: 0", {{"Retry-After", "0"}}, seconds{0}, seconds{2});
  asks("Retry-After: garbage", {{"Retry-After", "soon"}}, seconds{0}, seconds{2});
  asks("RateLimit", {{"RateLimit", R"("resolvers";r=0;t=5)"}}, seconds{6}, seconds{8});
  asks("a wait of thirty years", {{"Retry-After", "1000000000"}}, seconds{300}, seconds{302});
  asks("a wait of more than can be counted", {{"Retry-After", std::string(30, '9')}}, seconds{300},
       seconds{302});
  cases.push_back(
      {.name = "503 for ever", .fault = status(503, k_always), .code = 4, .words = {"images_1", "HTTP 503"}});
  cases.push_back({.name = "429 for ever",
                   .fault = status(429, k_always, {{"Retry-After", "60"}}),
                   .code = 4,
                   .words = {"images_1", "HTTP 429"},
                   .waits = seconds{60}});
  check_all(cases);
}

TEST_CASE("a refused URL is replaced by a new one, three times at most") {
  std::vector<FaultCase> cases;
  for (const int code : {400, 401, 403, 404, 410}) {
    const auto name = std::to_string(code);
    cases.push_back({.name = name + " once", .fault = status(code, 1, {}, "<Code>AccessDenied</Code>")});
    cases.push_back({.name = name + " for ever",
                     .fault = status(code, k_always),
                     .code = 5,
                     .words = {"images_1", "HTTP " + name, "next:"}});
  }
  check_all(cases);
}

TEST_CASE("a URL that expires under way is replaced where it stopped") {
  FaultMatrix matrix;
  matrix.check(
      {.name = "cut, then expired", .fault = {.then = [&] { matrix.hub.expire_urls(); }}, .at = At::cut});
}

TEST_CASE("answers that are not the range asked for are never written") {
  const std::vector<FaultCase> cases{
      {.name = "the whole file once", .fault = {.ignore_range = true}, .fetched_anew = true},
      {.name = "the whole file always",
       .fault = {.times = k_always, .ignore_range = true},
       .fetched_anew = true},
      {.name = "416", .fault = status(416), .code = 8, .words = {"images_1", "HTTP 416"}},
      {.name = "204", .fault = status(204), .code = 5, .words = {"images_1", "HTTP 204"}},
      {.name = "304", .fault = status(304), .code = 5, .words = {"images_1", "HTTP 304"}},
      {.name = "an empty 200", .fault = status(200), .code = 8, .words = {"images_1", "another size"}},
      {.name = "a log-in page",
       .fault = status(200, 1, {{"Content-Type", "text/html"}}, "<html>log in first</html>"),
       .code = 8,
       .words = {"images_1", "another size"}},
      {.name = "gzip",
       .fault = {.headers = {{"Content-Encoding", "gzip"}}},
       .code = 4,
       .words = {"images_1", "content encoding gzip"}},
      {.name = "one byte flipped once",
       .fault = {},
       .at = At::flip,
       .words = {"fetched once more"},
       .fetched_anew = true},
      {.name = "one byte flipped always",
       .fault = {.times = k_always},
       .at = At::flip,
       .code = 8,
       .words = {"images_1", "same wrong bytes each time"},
       .fetched_anew = true},
      {.name = "no HTTP", .fault = {.raw = "SSH-2.0-OpenSSH_9.2\r\n"}, .code = 4, .words = {"images_1"}},
      {.name = "endless headers",
       .fault = {.raw = "HTTP/1.1 200 OK\r\nX: " + std::string(300'000, 'x')},
       .code = 4,
       .words = {"images_1", "cannot be used"}},
      {.name = "a NUL in a header",
       .fault = {.raw = std::string{"HTTP/1.1 206 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n", 46}},
       .code = 4,
       .words = {"images_1"}},
  };
  check_all(cases);
}

TEST_CASE("a range that does not begin where it was asked to is never written") {
  std::vector<FaultCase> cases;
  for (const auto* value :
       {"", "bytes 0-9/77", "bytes 5-1/77", "bytes */5", "bytes 0-9/*", "pages 1-2/3", "bytes"})
    cases.push_back({.name = "Content-Range: " + std::string{value},
                     .fault = {.headers = {{"Content-Range", value}}},
                     .code = 8,
                     .words = {"images_1", "another range or size"}});
  check_all(cases);
}

TEST_CASE("a redirect of the storage that leads astray is not followed") {
  std::vector<FaultCase> cases;
  for (const auto* target : {"ftp://127.0.0.1/x", "file:///etc/passwd", "gopher://127.0.0.1/x", "data:,x",
                             "http://192.0.2.1/x", "//192.0.2.1/x", "http://user:pw@127.0.0.1/x", ""})
    cases.push_back(
        {.name = "to " + std::string{target},
         .fault = {.times = k_always, .status = 302, .headers = {{"Location", target}}, .redirect_to = "x"},
         .code = 5,
         .words = {"images_1", "redirect"}});
  FaultCase loop{
      .name = "round and round", .fault = redirect("/loop"), .code = 5, .words = {"more than 5 redirects"}};
  loop.after = {{.where = Where::cdn, .path = "/loop", .times = k_always, .redirect_to = "/loop"}};
  cases.push_back(std::move(loop));
  check_all(cases);
}

TEST_CASE("a hub that is asked for a new URL under way may stumble, refuse or lie") {
  const auto gated = [](int code) {
    return status(code, k_always, {{"X-Error-Code", "GatedRepo"}}, hub_words("restricted"));
  };
  std::vector<FaultCase> cases{
      at_hub("503 three times", status(503, 3), 0),
      at_hub("500 for ever", status(500, k_always), 4, {"images_1", "HTTP 500"}),
      at_hub("no answer", {.times = 3, .close_before_answer = true}, 0),
      at_hub("another size", {.times = k_always, .headers = {{"X-Linked-Size", "5"}}}, 8, {"another size"}),
      at_hub("another digest",
             {.times = k_always, .headers = {{"X-Linked-ETag", "\"" + std::string(64, 'a') + "\""}}}, 8,
             {"another digest"}),
      at_hub("another commit", {.times = k_always, .headers = {{"X-Repo-Commit", std::string(40, 'f')}}}, 8,
             {"another commit"}),
      at_hub("the file is gone", status(404, k_always, {{"X-Error-Code", "EntryNotFound"}}), 5,
             {"is not in"}),
      at_hub("the commit is gone", status(404, k_always, {{"X-Error-Code", "RevisionNotFound"}}), 5,
             {"no revision"}),
      at_hub("the repo is gone", status(404, k_always, {{"X-Error-Code", "RepoNotFound"}}), 5,
             {"does not exist"}),
      at_hub("the token is no longer valid",
             status(401, k_always, {}, hub_words("Invalid credentials in Authorization header")), 5,
             {"is not valid", "HF_TOKEN"}),
      at_hub("no login", gated(401), 5, {"not accepted as a login"}),
      at_hub("no access", gated(403), 5, {"has no access yet"}),
      at_hub("no rights", status(403, k_always), 5, {"may not read"}),
      at_hub("to ftp", redirect("ftp://127.0.0.1/x"), 5, {"redirect"}),
      at_hub("to another host without encryption", redirect("http://192.0.2.1/x"), 5, {"redirect"}),
      at_hub("round and round", redirect("images_1.part"), 5, {"redirect"}),
      at_hub("no HTTP", {.times = k_always, .raw = "220 ftp ready\r\n"}, 4, {"cannot be used"}),
      at_hub("a log-in page", status(200, k_always, {}, "<html>log in</html>"), 8, {"another size"}),
  };
  auto waits = at_hub("a limit of requests", status(429, 1, {{"RateLimit", R"("resolvers";r=0;t=12)"}}), 0);
  waits.waits = seconds{13};
  cases.push_back(std::move(waits));
  auto stalls = at_hub("a stall", {.stall_after = 0}, 0);
  stalls.flags = k_impatient;
  cases.push_back(std::move(stalls));
  check_all(cases);
}
