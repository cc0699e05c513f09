// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decant/base/error.hpp"
#include "fetch_support.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::test;

namespace {

Fd open_file(const std::string& path) {
  return Fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
}

source::Object object_of(const std::string& content, hash::Algorithm algorithm = hash::Algorithm::sha256) {
  hash::Hasher hasher{algorithm, content.size()};
  hasher.update(as_bytes(content));
  return {.path = fs::RelPath::require("f", "test"), .size = content.size(), .digest = hasher.finish()};
}

}  // namespace

TEST_CASE("a file is read in blocks of at most 1 MiB and hashed") {
  const TempDir dir;
  const Stop stop;
  ByteBudget budget{8 * k_mib};
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{k_mib}, std::size_t{3 * k_mib + 5}}) {
    for (const auto algorithm : {hash::Algorithm::sha256, hash::Algorithm::git_sha1}) {
      CAPTURE(size);
      const std::string content = random_bytes(1, size);
      write_file(dir / "f", content);
      const auto object = object_of(content, algorithm);
      const auto counters = std::make_shared<progress::PartCounters>();
      const Fd fd = open_file(dir / "f");
      const auto reader = fetch::read_file(fd.get(), dir / "f", object, budget, counters, stop);
      std::string got;
      while (const BlockPtr block = reader->next()) {
        CHECK(block->filled().size() <= k_mib);
        got += as_text(block->filled());
      }
      CHECK(got == content);
      CHECK(reader->digest() == object.digest);
      CHECK(reader->next() == nullptr);
      CHECK(counters->bytes_done == size);
    }
  }
}

TEST_CASE("a file of another size is refused, also when it changes meanwhile") {
  const TempDir dir;
  const Stop stop;
  ByteBudget budget{8 * k_mib};
  const std::string content = random_bytes(2, 2 * k_mib);
  const auto object = object_of(content);
  write_file(dir / "f", content.substr(1));
  Fd fd = open_file(dir / "f");
  CHECK(error_of([&] { fetch::read_file(fd.get(), "f", object, budget, nullptr, stop); }).kind() ==
        ErrorKind::integrity);

  write_file(dir / "f", content);
  fd = open_file(dir / "f");
  const auto reader = fetch::read_file(fd.get(), "f", object, budget, nullptr, stop);
  REQUIRE(reader->next());
  const off_t new_size = GENERATE(as<off_t>{}, k_mib + 7, 2 * k_mib + 1);
  REQUIRE(::truncate((dir / "f").c_str(), new_size) == 0);
  CHECK(error_of([&] { read_all(*reader); }).kind() == ErrorKind::integrity);
  CHECK_THROWS_AS(reader->digest(), Error);
}

TEST_CASE("a FIFO is no file to read") {
  const TempDir dir;
  const Stop stop;
  ByteBudget budget{8 * k_mib};
  REQUIRE(::mkfifo((dir / "f").c_str(), 0600) == 0);
  const Fd fd = open_file(dir / "f");
  CHECK_THROWS_AS(fetch::read_file(fd.get(), "f", object_of(""), budget, nullptr, stop), Error);
}

TEST_CASE("a download is read within a small budget, also with landed chunks to check") {
  Bench bench;
  const std::string content = random_bytes(3, 4 * k_chunk_bytes + 9);
  const auto object = bench.hub.add("part", content);
  {
    cache::Partial partial = partial_for(bench.dir, object);
    write_chunk(partial, content, 1);
    write_chunk(partial, content, 4);
  }
  ByteBudget small{5 * k_mib};
  const auto downloader = bench.downloader();
  const auto download = downloader->start(object, partial_for(bench.dir, object), nullptr);
  const auto reader = fetch::read_download(download, object, small, bench.stop);
  std::string got;
  while (const BlockPtr block = reader->next()) {
    CHECK(block->filled().size() <= k_mib);
    got += as_text(block->filled());
  }
  CHECK(got == content);
  CHECK(reader->digest() == object.digest);
  CHECK(small.peak() <= 5 * k_mib);
}

TEST_CASE("a block may be kept after its reader is gone") {
  Bench bench;
  const std::string content = random_bytes(4, k_chunk_bytes);
  const auto object = bench.hub.add("part", content);
  {
    cache::Partial partial = partial_for(bench.dir, object);
    write_chunk(partial, content, 0);
  }
  BlockPtr block;
  {
    const auto downloader = bench.downloader();
    const auto download = downloader->start(object, partial_for(bench.dir, object), nullptr);
    block = fetch::read_download(download, object, bench.budget, bench.stop)->next();
  }
  REQUIRE(block);
  CHECK(as_text(block->filled()) == std::string_view{content}.substr(0, k_mib));
}

TEST_CASE("a stop ends a read that waits") {
  Bench bench;
  const auto object = bench.hub.add("part", random_bytes(5, 100));
  bench.hub.on_piece = [](const source::Object&, std::uint64_t, const Stop& stop) {
    while (!stop.requested()) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  };
  const auto downloader = bench.downloader();
  const auto download = downloader->start(object, partial_for(bench.dir, object), nullptr);
  const auto reader = fetch::read_download(download, object, bench.budget, bench.stop);
  std::thread stopper{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    bench.stop.request(2);
  }};
  CHECK_THROWS_AS(reader->next(), Interrupted);
  stopper.join();
}
