// SPDX-License-Identifier: Apache-2.0
#include "decant/fetch/downloader.hpp"

#include <cerrno>
#include <set>

#include "decant/base/error.hpp"
#include "decant/fs/sys.hpp"
#include "fetch_support.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Holds every request until it is opened or stopped.
class Gate {
 public:
  void wait(const Stop& stop) const {
    while (!open_ && !stop.requested()) std::this_thread::sleep_for(milliseconds{1});
  }
  void open() { open_ = true; }
  bool is_open() const { return open_; }

 private:
  std::atomic<bool> open_{false};
};

void wait_until(const std::function<bool()>& done) {
  const auto end = steady_clock::now() + std::chrono::seconds{20};
  while (!done()) {
    if (steady_clock::now() > end) throw std::runtime_error{"it never came to that"};
    std::this_thread::sleep_for(milliseconds{1});
  }
}

}  // namespace

TEST_CASE("an object arrives whole over several connections") {
  Bench bench;
  const std::string content = random_bytes(1, 10 * k_chunk_bytes + 123);
  const auto object = bench.hub.add("part", content);
  const auto downloader = bench.downloader();
  const auto download = downloader->start(object, partial_for(bench.dir, object), bench.counters);
  CHECK(download->wait_for(content.size() + 1000) == content.size());
  CHECK(download->source_name() == "hub");
  CHECK(download->fetched_bytes() == content.size());
  cache::Partial partial = download->release();
  REQUIRE(partial.finish(open_dir(bench.dir.path()), object.path, 0444));
  CHECK(read_file(bench.dir / "part") == content);
  CHECK(bench.hub.served() == content.size());
  // No chunk was asked for twice.
  std::set<std::uint64_t> offsets;
  for (const ByteRange& range : bench.hub.requests()) CHECK(offsets.insert(range.offset).second);
}

TEST_CASE("an empty object is there at once, without a request") {
  Bench bench;
  const auto object = bench.hub.add("empty", "");
  CHECK(fetch_whole(bench, object).empty());
  CHECK(bench.hub.requests().empty());
}

TEST_CASE("a small object is shared between the connections") {
  Bench bench;
  const std::string content = random_bytes(2, 4 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  CHECK(fetch_whole(bench, object) == content);
  CHECK(bench.hub.requests().size() == 4);
}

TEST_CASE("no range starts further ahead of the landed prefix than the window") {
  Bench bench;
  bench.options.window = 3 * k_chunk_bytes;
  const std::string content = random_bytes(3, 12 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  Gate gate;
  bench.hub.on_piece = [&](const source::Object&, std::uint64_t at, const Stop& stop) {
    if (at < k_chunk_bytes) gate.wait(stop);  // the first chunk is slow
  };
  std::atomic<int> too_far{0};
  bench.hub.set_faults([&](const source::Object&, ByteRange range) -> std::optional<Fault> {
    if (!gate.is_open() && range.offset >= bench.options.window) ++too_far;
    return std::nullopt;
  });
  const auto downloader = bench.downloader();
  const auto download = downloader->start(object, partial_for(bench.dir, object), bench.counters);
  wait_until([&] { return bench.counters->bytes_done == 2 * k_chunk_bytes; });
  CHECK(bench.hub.requests().size() == 3);
  gate.open();
  CHECK(download->wait_for(content.size()) == content.size());
  CHECK(too_far == 0);
}

TEST_CASE("earlier objects come first, later ones fill what is free") {
  Bench bench;
  bench.options.connections = 2;
  bench.options.window = k_chunk_bytes;
  const auto first = bench.hub.add("first", random_bytes(4, 3 * k_chunk_bytes));
  const auto second = bench.hub.add("second", random_bytes(5, k_chunk_bytes));
  Gate gate;
  bench.hub.on_piece = [&](const source::Object& object, std::uint64_t, const Stop& stop) {
    if (object.path.str() == "first") gate.wait(stop);
  };
  const auto downloader = bench.downloader();
  const auto a = downloader->start(first, partial_for(bench.dir, first), nullptr);
  const auto b = downloader->start(second, partial_for(bench.dir, second), nullptr);
  CHECK(b->wait_for(second.size) == second.size);
  CHECK(a->fetched_bytes() == 0);
  gate.open();
  CHECK(a->wait_for(first.size) == first.size);
}

TEST_CASE("one download's failure does not stop the others") {
  Bench bench;
  const auto bad = bench.hub.add("bad", random_bytes(6, 3 * k_chunk_bytes));
  const auto good = bench.hub.add("good", random_bytes(7, 3 * k_chunk_bytes));
  bench.hub.set_faults([](const source::Object& object, ByteRange) -> std::optional<Fault> {
    if (object.path.str() != "bad") return std::nullopt;
    return Fault{.end = source::ReadEnd::failed, .problem = {.kind = ErrorKind::access, .thing = "gone"}};
  });
  const auto downloader = bench.downloader();
  const auto a = downloader->start(bad, partial_for(bench.dir, bad), nullptr);
  const auto b = downloader->start(good, partial_for(bench.dir, good), nullptr);
  CHECK(error_of([&] { a->wait_for(1); }).kind() == ErrorKind::access);
  CHECK(b->wait_for(good.size) == good.size);
  CHECK(error_of([&] { a->wait_for(bad.size); }).kind() == ErrorKind::access);
  CHECK(a->wait_for(0) == 0);
}

TEST_CASE("a full disk ends the download with an error of kind disk, and what landed stays") {
  Bench bench;
  bench.options.connections = 1;
  const std::string content = random_bytes(8, 3 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  {
    const auto downloader = bench.downloader();
    cache::Partial partial = partial_for(bench.dir, object);
    std::atomic<std::uint64_t> writes{0};
    const fs::sys::ScopedHook full{
        [&](std::string_view call, unsigned long) { return call == "pwrite" && ++writes > 15 ? ENOSPC : 0; }};
    const auto download = downloader->start(object, std::move(partial), bench.counters);
    CHECK(error_of([&] { download->wait_for(content.size()); }).kind() == ErrorKind::disk);
    download->release();
  }
  const std::uint64_t before = bench.hub.served();
  CHECK(fetch_whole(bench, object) == content);
  CHECK(bench.hub.served() - before == 2 * k_chunk_bytes);
}

// Without it nobody would ever come back.
TEST_CASE("a stop reaches connections and those who wait, the partial stays") {
  Bench bench;
  const std::string content = random_bytes(9, 3 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  std::atomic<int> inside{0};
  bench.hub.on_piece = [&](const source::Object&, std::uint64_t at, const Stop& stop) {
    if (at < k_chunk_bytes) return;
    ++inside;
    while (!stop.requested()) std::this_thread::sleep_for(milliseconds{1});
  };
  {
    const auto downloader = bench.downloader();
    const auto download = downloader->start(object, partial_for(bench.dir, object), nullptr);
    download->wait_for(k_chunk_bytes);
    wait_until([&] { return inside > 0; });
    bench.stop.request(2);
    CHECK_THROWS_AS(download->wait_for(content.size()), Interrupted);
  }
  CHECK(partial_for(bench.dir, object).landed_bytes() == k_chunk_bytes);
}

TEST_CASE("a stop ends a long wait between tries") {
  Bench bench;
  bench.options.backoff = {.first = milliseconds{600'000}, .ceiling = milliseconds{600'000}};
  const auto object = bench.hub.add("part", random_bytes(10, 100));
  bench.hub.set_faults([](const source::Object&, ByteRange) { return Fault{.at = 0}; });
  const auto asked = steady_clock::now();
  {
    fetch::Downloader downloader{{&bench.hub}, bench.options, system_clock(), bench.reporter, bench.stop};
    const auto download = downloader.start(object, partial_for(bench.dir, object), nullptr);
    wait_until([&] { return !bench.hub.requests().empty(); });
    bench.stop.request(15);
    CHECK_THROWS_AS(download->wait_for(1), Interrupted);
  }
  CHECK(steady_clock::now() - asked < std::chrono::seconds{10});
}

TEST_CASE("the downloader may go while nobody reads, and downloads may outlive it") {
  Bench bench;
  const std::string content = random_bytes(11, 30 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  std::shared_ptr<fetch::Download> download;
  {
    const auto downloader = bench.downloader();
    download = downloader->start(object, partial_for(bench.dir, object), bench.counters);
    const auto reader = fetch::read_download(download, object, bench.budget, bench.stop);
    CHECK(reader->next() != nullptr);
    wait_until([&] { return bench.counters->bytes_done > 10 * k_chunk_bytes; });  // nobody reads, it goes on
  }
  const auto counted = [&] { return download->partial().landed_bytes(); };
  if (counted() < object.size) {
    CHECK(error_of([&] { download->wait_for(object.size); }).kind() == ErrorKind::incomplete);
  }
  download->refetch(0);
  CHECK(error_of([&] { download->wait_for(1); }).kind() == ErrorKind::incomplete);
  CHECK(download->source_name() == "hub");
  CHECK(download->release().landed_bytes() > 0);
}

TEST_CASE("giving back stops what is in flight and waits for it") {
  Bench bench;
  const auto object = bench.hub.add("part", random_bytes(12, 3 * k_chunk_bytes));
  std::atomic<int> inside{0};
  bench.hub.on_piece = [&](const source::Object&, std::uint64_t, const Stop& stop) {
    ++inside;
    while (!stop.requested()) std::this_thread::sleep_for(milliseconds{1});
    --inside;
  };
  const auto downloader = bench.downloader();
  const auto download = downloader->start(object, partial_for(bench.dir, object), bench.counters);
  wait_until([&] { return inside == 3; });
  cache::Partial partial = download->release();
  CHECK(inside == 0);
  CHECK(bench.counters->bytes_done == 0);
  CHECK(error_of([&] { download->wait_for(1); }).kind() == ErrorKind::bug);
  CHECK(error_of([&] { download->release(); }).kind() == ErrorKind::bug);
  // The same object can be started anew.
  bench.hub.on_piece = nullptr;
  const auto again = downloader->start(object, std::move(partial), bench.counters);
  CHECK(again->wait_for(object.size) == object.size);
}

TEST_CASE("without any source the download says so") {
  Bench bench;
  const auto object = bench.hub.add("part", "x");
  fetch::Downloader downloader{{}, bench.options, bench.clock, bench.reporter, bench.stop};
  const auto download = downloader.start(object, partial_for(bench.dir, object), nullptr);
  CHECK(error_of([&] { download->wait_for(1); }).kind() == ErrorKind::network);
}

TEST_CASE("many objects at once all arrive") {
  Bench bench;
  const auto downloader = bench.downloader();
  std::vector<source::Object> objects;
  std::vector<std::shared_ptr<fetch::Download>> downloads;
  for (std::uint64_t i = 0; i < 40; ++i) {
    objects.push_back(bench.hub.add(std::to_string(i), random_bytes(100 + i, 1000 * i)));
  }
  for (const auto& object : objects) {
    downloads.push_back(downloader->start(object, partial_for(bench.dir, object), nullptr));
  }
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const auto reader = fetch::read_download(downloads[i], objects[i], bench.budget, bench.stop);
    CHECK(read_all(*reader).digest == objects[i].digest);
  }
}
