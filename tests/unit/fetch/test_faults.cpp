// SPDX-License-Identifier: Apache-2.0
// What goes wrong on the way, and what it costs.
#include <algorithm>

#include "decant/base/error.hpp"
#include "fetch_support.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;
using source::ReadEnd;

namespace {

// The first `count` requests meet the fault.
ScriptedSource::Faults first_requests(int count, Fault fault) {
  return [left = count, fault](const source::Object&, ByteRange) mutable -> std::optional<Fault> {
    return left-- > 0 ? std::optional{fault} : std::nullopt;
  };
}

ScriptedSource::Faults always(Fault fault) {
  return [fault](const source::Object&, ByteRange) { return fault; };
}

Fault cut_at(std::uint64_t at) {
  return {.end = ReadEnd::interrupted, .at = at};
}

}  // namespace

TEST_CASE("a connection cut anywhere goes on at its last byte") {
  const std::uint64_t size = 2 * k_chunk_bytes + 1000;
  const std::string content = random_bytes(1, size);
  for (const std::uint64_t at :
       {std::uint64_t{0}, std::uint64_t{1}, k_chunk_bytes - 1, k_chunk_bytes, k_chunk_bytes + 1, size - 1}) {
    CAPTURE(at);
    Bench bench;
    bench.options.connections = 1;
    const auto object = bench.hub.add("part", content);
    bench.hub.set_faults([at, cut = false](const source::Object&, ByteRange range) mutable {
      if (cut || at < range.offset || at >= range.end()) return std::optional<Fault>{};
      cut = true;
      return std::optional{cut_at(at)};
    });
    CHECK(fetch_whole(bench, object) == content);
    CHECK(bench.hub.served() == size);  // not one byte twice
    CHECK(bench.counters->bytes_done == size);
    CHECK(bench.counters->bytes_from_network == size);
    const auto requests = bench.hub.requests();
    CHECK(std::any_of(requests.begin(), requests.end(),
                      [&](const ByteRange& range) { return range.offset == at; }));
  }
}

TEST_CASE("a source that says complete too early is asked for the rest") {
  Bench bench;
  const std::string content = random_bytes(2, k_chunk_bytes + 7);
  const auto object = bench.hub.add("part", content);
  bench.hub.set_faults(first_requests(2, {.end = ReadEnd::complete, .at = 1234}));
  CHECK(fetch_whole(bench, object) == content);
  CHECK(bench.hub.served() == content.size());
}

TEST_CASE("waits grow without progress, and progress starts them anew") {
  Bench bench;
  bench.options.connections = 1;
  bench.options.backoff.max_tries_without_progress = 4;
  const std::string content = random_bytes(3, 1'000'000);
  const auto object = bench.hub.add("part", content);
  // Three failures, some bytes, three failures, some bytes ...: never four without progress.
  bench.hub.set_faults([n = 0](const source::Object&, ByteRange range) mutable -> std::optional<Fault> {
    ++n;
    if (n > 30) return std::nullopt;
    return cut_at(n % 3 == 0 ? range.offset + 10'000 : range.offset);
  });
  CHECK(fetch_whole(bench, object) == content);
  for (const auto& sleep : bench.clock.sleeps()) CHECK(sleep < std::chrono::seconds{4});
}

TEST_CASE("a source that drips is given up, with what it brought kept") {
  Bench bench;
  bench.options.connections = 1;
  const auto object = bench.hub.add("part", random_bytes(4, 1'000'000));
  bench.hub.set_faults([](const source::Object&, ByteRange range) { return cut_at(range.offset + 180); });
  const Error error = error_of([&] { fetch_whole(bench, object); });
  CHECK(error.kind() == ErrorKind::network);
  CHECK(bench.hub.requests().size() < 60);  // 8 KiB at 180 bytes, then as many tries as without progress
}

TEST_CASE("a wait is told with the place, and when it is over") {
  Bench bench;
  bench.options.connections = 1;
  bench.counters->name = "images_003";
  const std::string content = random_bytes(4, 1'000'000);
  const auto object = bench.hub.add("part", content);
  bench.hub.set_faults(first_requests(1, cut_at(500'000)));
  bench.options.backoff.first = std::chrono::milliseconds{1'000'000};
  bench.options.backoff.ceiling = std::chrono::milliseconds{1'000'000};
  CHECK(fetch_whole(bench, object) == content);
  const auto waits = bench.reporter.waits();
  REQUIRE(waits.size() == 2);
  CHECK(waits[0].starts_with("hub: connection lost at 500 kB of images_003; next try in "));
  CHECK(waits[1].empty());
}

TEST_CASE("a pause that the server asks for is kept, by all connections") {
  Bench bench;
  bench.options.connections = 1;
  const std::string content = random_bytes(5, 3 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  bench.hub.set_faults(first_requests(1, {.at = 0, .server_wait = std::chrono::seconds{7}}));
  CHECK(fetch_whole(bench, object) == content);
  const auto sleeps = bench.clock.sleeps();
  REQUIRE(sleeps.size() == 1);
  CHECK(sleeps[0] >= std::chrono::seconds{7});
  CHECK(sleeps[0] <= std::chrono::seconds{8});
}

TEST_CASE("a pause of years is cut to five minutes, and both are told") {
  Bench bench;
  bench.options.connections = 1;
  const std::string content = random_bytes(4, k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  std::atomic<int> asked{0};
  bench.hub.set_faults([&](const source::Object&, ByteRange) -> std::optional<Fault> {
    if (asked++ > 0) return std::nullopt;
    return Fault{.server_wait = std::chrono::seconds{1'000'000'000}};
  });
  CHECK(fetch_whole(bench, object) == content);
  REQUIRE(bench.clock.sleeps().size() == 1);
  CHECK(bench.clock.sleeps()[0] >= std::chrono::minutes{5});
  CHECK(bench.clock.sleeps()[0] <= std::chrono::seconds{301});
  REQUIRE_FALSE(bench.reporter.waits().empty());
  const std::string text = bench.reporter.waits().front();
  CAPTURE(text);
  CHECK(text.find("hub: asks us to wait with part for ") == 0);
  CHECK(text.find("at most 5 min") != std::string::npos);
}

TEST_CASE("a source that never answers is given up after the tries of the policy") {
  Bench bench;
  bench.options.connections = 1;
  bench.options.backoff.max_tries_without_progress = 5;
  const auto object = bench.hub.add("part", random_bytes(6, 1000));
  bench.hub.set_faults(always(cut_at(0)));
  const Error error = error_of([&] { fetch_whole(bench, object); });
  CHECK(error.kind() == ErrorKind::network);
  CHECK(bench.hub.requests().size() == 5);
  CHECK_FALSE(error.problem().hint.empty());
}

TEST_CASE("what cannot be helped by waiting is not tried again, and keeps its words") {
  struct Row {
    const char* name;
    Fault fault;
    ErrorKind kind;
  };
  const std::vector<Row> rows{
      {"access",
       {.end = ReadEnd::failed, .problem = {.kind = ErrorKind::access, .thing = "gated", .hint = "accept"}},
       ErrorKind::access},
      {"wrong object",
       {.end = ReadEnd::wrong_object, .problem = {.thing = "size differs", .expected = "10", .found = "11"}},
       ErrorKind::integrity},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Bench fresh;
    fresh.options.connections = 1;
    const auto object = fresh.hub.add("part", random_bytes(7, 3 * k_chunk_bytes));
    fresh.hub.set_faults(always(row.fault));
    const Error error = error_of([&] { fetch_whole(fresh, object); });
    CHECK(error.kind() == row.kind);
    CHECK(error.problem().thing == row.fault.problem.thing);
    CHECK(error.problem().expected == row.fault.problem.expected);
    CHECK(error.problem().found == row.fault.problem.found);
    CHECK(fresh.hub.requests().size() == 1);
    CHECK(fresh.clock.sleeps().empty());
  }
}

TEST_CASE("the next source takes over what the first cannot serve") {
  const std::string content = random_bytes(8, 5 * k_chunk_bytes + 100);
  struct Row {
    const char* name;
    Fault fault;
  };
  const std::vector<Row> rows{
      {"never answers", cut_at(0)},
      {"gone", {.end = ReadEnd::failed, .problem = {.kind = ErrorKind::access, .thing = "not found"}}},
      {"other bytes", {.end = ReadEnd::wrong_object, .problem = {.thing = "size differs"}}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Bench bench;
    ScriptedSource mirror{"mirror"};
    mirror.add("part", content);
    const auto object = bench.hub.add("part", content);
    // Serves the first chunk and half of the next, then no more.
    mirror.set_faults([&row, n = 0](const source::Object&, ByteRange range) mutable -> std::optional<Fault> {
      if (range.offset == 0 && ++n == 1) return cut_at(k_chunk_bytes + k_chunk_bytes / 2);
      return row.fault;
    });
    bench.options.connections = 1;
    bench.options.backoff.max_tries_without_progress = 3;
    CHECK(fetch_whole(bench, object, {&mirror, &bench.hub}) == content);
    // A chunk is one source's: the half that the mirror sent is fetched again.
    CHECK(bench.hub.served() == content.size() - k_chunk_bytes);
    CHECK(bench.counters->bytes_done == content.size());
    CHECK(bench.counters->bytes_from_network == content.size() + k_chunk_bytes / 2);
    const auto messages = bench.reporter.messages();
    REQUIRE(messages.size() == 1);
    CHECK(messages[0].find("going on with hub") != std::string::npos);
  }
}

TEST_CASE("a place that has not the object is passed over without a word, and is asked for the next one") {
  Bench bench;
  ScriptedSource mirror{"mirror"};
  const std::string content = random_bytes(12, k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  mirror.set_faults(
      always({.end = ReadEnd::absent, .problem = {.kind = ErrorKind::access, .thing = "not on the mirror"}}));
  CHECK(fetch_whole(bench, object, {&mirror, &bench.hub}) == content);
  CHECK(bench.reporter.messages().empty());
  const Error error = error_of([&] { fetch_whole(bench, bench.hub.add("other", "x"), {&mirror}); });
  CHECK(error.kind() == ErrorKind::access);
  CHECK(error.problem().thing == "not on the mirror");
}

TEST_CASE("a place that does not answer is asked no more in this run, but the last one is") {
  Bench bench;
  ScriptedSource mirror{"mirror"};
  std::atomic<int> asked{0};
  mirror.set_faults([&](const source::Object&, ByteRange) -> std::optional<Fault> {
    ++asked;
    return cut_at(0);
  });
  bench.options.backoff.max_tries_without_progress = 3;
  bench.options.connections = 1;
  const auto first = bench.hub.add("a", random_bytes(13, 100));
  const auto second = bench.hub.add("b", random_bytes(14, 100));
  mirror.add("a", random_bytes(13, 100));
  mirror.add("b", random_bytes(14, 100));
  const auto downloader = bench.downloader({&mirror, &bench.hub});
  for (const auto& object : {first, second}) {
    const auto download = downloader->start(object, partial_for(bench.dir, object), bench.counters);
    CHECK(download->wait_for(object.size) == object.size);
    CHECK(download->source_name() == "hub");
  }
  CHECK(asked == 3);
  CHECK(downloader->dropped() == std::vector<std::string>{"mirror"});
}

TEST_CASE("when no source can serve it, the last one's reason is told: the others only stood in") {
  Bench bench;
  ScriptedSource mirror{"mirror"};
  const auto object = bench.hub.add("part", random_bytes(9, 100));
  mirror.set_faults(
      always({.end = ReadEnd::failed, .problem = {.kind = ErrorKind::access, .thing = "not here"}}));
  bench.hub.set_faults(always({.at = 0, .problem = {.kind = ErrorKind::network, .thing = "cannot connect"}}));
  const Error error = error_of([&] { fetch_whole(bench, object, {&mirror, &bench.hub}); });
  CHECK(error.kind() == ErrorKind::network);
  CHECK(error.problem().thing == "cannot connect");
}

TEST_CASE("a server that ignores ranges is read from the start by one connection") {
  const std::string content = random_bytes(10, 6 * k_chunk_bytes + 100);
  Bench bench;
  const auto object = bench.hub.add("part", content);
  std::atomic<int> at_once{0};
  std::atomic<bool> overlapped{false};
  bench.hub.set_faults([&](const source::Object&, ByteRange range) -> std::optional<Fault> {
    if (range != ByteRange{0, content.size()}) return Fault{.end = ReadEnd::range_ignored};
    return std::nullopt;
  });
  bench.hub.on_piece = [&](const source::Object&, std::uint64_t, const Stop&) {
    if (++at_once != 1) overlapped = true;
    --at_once;
  };

  SECTION("whole") {
    CHECK(fetch_whole(bench, object) == content);
    CHECK(bench.hub.served() == content.size());
  }
  SECTION("cut on the way: from the start again, and only new bytes count as progress") {
    bench.options.backoff.max_tries_without_progress = 3;
    bench.hub.set_faults([&, n = 0](const source::Object&, ByteRange range) mutable -> std::optional<Fault> {
      if (range != ByteRange{0, content.size()}) return Fault{.end = ReadEnd::range_ignored};
      if (++n < 5) return cut_at(static_cast<std::uint64_t>(n) * k_chunk_bytes + 10);
      return std::nullopt;
    });
    CHECK(fetch_whole(bench, object) == content);
  }
  SECTION("cut at the same place again and again: given up") {
    bench.options.backoff.max_tries_without_progress = 3;
    bench.hub.set_faults([&](const source::Object&, ByteRange range) -> std::optional<Fault> {
      if (range != ByteRange{0, content.size()}) return Fault{.end = ReadEnd::range_ignored};
      return cut_at(k_chunk_bytes + 10);
    });
    CHECK(error_of([&] { fetch_whole(bench, object); }).kind() == ErrorKind::network);
    return;
  }
  CHECK_FALSE(overlapped);
  CHECK(bench.counters->bytes_done == content.size());
  CHECK(bench.reporter.messages().size() == 1);  // told once
}

TEST_CASE("what a source sends beyond the range is not taken") {
  class Overlong final : public source::Source {
   public:
    std::string name() const override { return "overlong"; }
    source::ReadOutcome read(const source::Object&, ByteRange range, ByteSink& sink, const Stop&) override {
      sink.write(as_bytes(std::string(range.length, 'x') + "more"));
      FAIL("more was taken");
      return {};
    }
  };
  Bench bench;
  Overlong overlong;
  const auto object = bench.hub.add("part", "content");
  CHECK(fetch_whole(bench, object, {&overlong}) == "xxxxxxx");
}

TEST_CASE("a source that throws ends that download with what it threw") {
  class Throwing final : public source::Source {
   public:
    std::string name() const override { return "throwing"; }
    source::ReadOutcome read(const source::Object&, ByteRange, ByteSink&, const Stop&) override {
      throw Error{ErrorKind::disk, "cannot read the disk"};
    }
  };
  Bench bench;
  Throwing throwing;
  const auto object = bench.hub.add("part", "content");
  CHECK(error_of([&] { fetch_whole(bench, object, {&throwing}); }).kind() == ErrorKind::disk);
}

TEST_CASE("bytes that fail the digest are fetched once more, then the source is at fault") {
  const std::string content = random_bytes(11, 2 * k_chunk_bytes);
  Bench bench;
  ScriptedSource mirror{"mirror"};
  mirror.add("part", content);
  mirror.corrupt("part", k_chunk_bytes + 5);
  const auto object = bench.hub.add("part", content);
  const bool has_another = GENERATE(true, false);
  std::vector<source::Source*> sources{&mirror};
  if (has_another) sources.push_back(&bench.hub);
  const auto downloader = bench.downloader(sources);
  const auto download = downloader->start(object, partial_for(bench.dir, object), bench.counters);
  for (int round = 0; round < 2; ++round) {
    CHECK(read_all(*fetch::read_download(download, object, bench.budget, bench.stop)).digest !=
          object.digest);
    download->refetch_all();
  }
  if (has_another) {
    const Read read = read_all(*fetch::read_download(download, object, bench.budget, bench.stop));
    CHECK(read.digest == object.digest);
    CHECK(read.content == content);
    CHECK(bench.hub.served() == content.size());
    CHECK(bench.counters->bytes_done == content.size());
    CHECK(bench.reporter.messages().size() == 1);
    CHECK(download->source_name() == "hub");  // what the mirror sent was thrown away
    REQUIRE(download->shares().size() == 1);
    CHECK(download->shares()[0].bytes == content.size());
  } else {
    const Error error = error_of([&] { download->wait_for(content.size()); });
    CHECK(error.kind() == ErrorKind::integrity);
    CHECK(error.problem().thing.find("mirror") != std::string::npos);
  }
  CHECK(mirror.served() == 2 * content.size());
}
