// SPDX-License-Identifier: Apache-2.0
// What an earlier process landed is used, once it has proven to be right.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "decant/base/error.hpp"
#include "fetch_support.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;

namespace {

void flip_landed_byte(const TempDir& dir, std::uint64_t at) {
  for (const std::string& name : open_dir(dir.path()).list()) {
    std::fstream file{dir / name + "/bytes/data", std::ios::binary | std::ios::in | std::ios::out};
    file.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    REQUIRE(file.good());
  }
}

void leave_chunks(const TempDir& dir, const source::Object& object, const std::string& content,
                  const std::vector<std::uint64_t>& chunks) {
  {
    cache::Partial partial = partial_for(dir, object);
    for (const std::uint64_t chunk : chunks) write_chunk(partial, content, chunk);
  }
  kill_owners(dir);
}

}  // namespace

TEST_CASE("landed chunks are not fetched again") {
  Bench bench;
  const std::string content = random_bytes(1, 6 * k_chunk_bytes + 10);
  const auto object = bench.hub.add("part", content);
  leave_chunks(bench.dir, object, content, {0, 2, 6});
  CHECK(fetch_whole(bench, object) == content);
  CHECK(bench.hub.served() == 4 * k_chunk_bytes);
  CHECK(bench.counters->bytes_done == content.size());
  CHECK(bench.counters->bytes_from_network == 4 * k_chunk_bytes);
}

TEST_CASE("a complete partial makes no request") {
  Bench bench;
  const std::string content = random_bytes(2, k_chunk_bytes + 10);
  const auto object = bench.hub.add("part", content);
  leave_chunks(bench.dir, object, content, {0, 1});
  CHECK(fetch_whole(bench, object) == content);
  CHECK(bench.hub.requests().empty());
}

TEST_CASE("a landed chunk that went bad is fetched again, alone") {
  Bench bench;
  const std::string content = random_bytes(3, 3 * k_chunk_bytes + 10);
  const auto object = bench.hub.add("part", content);
  leave_chunks(bench.dir, object, content, {0, 1, 2, 3});
  const std::uint64_t at = GENERATE(std::uint64_t{0}, k_chunk_bytes + 5, 3 * k_chunk_bytes + 9);
  flip_landed_byte(bench.dir, at);
  CHECK(fetch_whole(bench, object) == content);
  CHECK(bench.hub.requests().size() == 1);
  CHECK(bench.hub.served() == (at < 3 * k_chunk_bytes ? k_chunk_bytes : 10));
  CHECK(bench.counters->bytes_done == content.size());
}

TEST_CASE("a landed chunk that lost its end is fetched again") {
  Bench bench;
  const std::string content = random_bytes(4, 2 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  leave_chunks(bench.dir, object, content, {0, 1});
  {
    const auto downloader = bench.downloader();
    const auto download = downloader->start(object, partial_for(bench.dir, object), bench.counters);
    REQUIRE(::truncate((download->partial().path() + "/bytes/data").c_str(), 100) == 0);
    CHECK(read_all(*fetch::read_download(download, object, bench.budget, bench.stop)).content == content);
  }  // the hub counts a piece after it was taken
  CHECK(bench.hub.served() == content.size());
}

TEST_CASE("a range that starts anew after a kill begins at its first missing chunk") {
  Bench bench;
  bench.options.connections = 1;
  const std::string content = random_bytes(5, 4 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  std::atomic<bool> reached{false};
  bench.hub.on_piece = [&](const source::Object&, std::uint64_t at, const Stop& stop) {
    if (at < k_chunk_bytes + k_chunk_bytes / 2) return;
    reached = true;
    while (!stop.requested()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  };
  {
    const auto downloader = bench.downloader();
    const auto download = downloader->start(object, partial_for(bench.dir, object), bench.counters);
    while (!reached) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  // The chunk in flight no longer counts.
  CHECK(bench.counters->bytes_done == k_chunk_bytes);
  kill_owners(bench.dir);
  bench.hub.on_piece = nullptr;
  bench.counters = std::make_shared<progress::PartCounters>();
  const std::uint64_t before = bench.hub.served();
  CHECK(fetch_whole(bench, object) == content);
  CHECK(bench.hub.served() - before == 3 * k_chunk_bytes);
}

TEST_CASE("a source that ignores ranges sends landed chunks again, but nothing after the last missing one") {
  Bench bench;
  const std::string content = random_bytes(6, 4 * k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  leave_chunks(bench.dir, object, content, {0, 2, 3});
  bench.hub.set_faults([&](const source::Object&, ByteRange range) -> std::optional<Fault> {
    if (range != ByteRange{0, content.size()}) return Fault{.end = source::ReadEnd::range_ignored};
    return std::nullopt;
  });
  CHECK(fetch_whole(bench, object) == content);
  CHECK(bench.hub.served() <= 2 * k_chunk_bytes + 200'000);
  CHECK(bench.counters->bytes_done == content.size());
}
