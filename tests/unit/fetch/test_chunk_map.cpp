// SPDX-License-Identifier: Apache-2.0
#include "chunk_map.hpp"

#include "support/catch.hpp"

using namespace decant::fetch;

TEST_CASE("chunks are asked for in order, each once") {
  ChunkMap map{95, 10};
  CHECK(map.count() == 10);
  const auto first = map.next_run(1000, 4);
  REQUIRE(first == Run{0, 4});
  map.take(*first);
  CHECK(map.next_run(1000, 4) == Run{4, 4});
  map.set_landed(5);
  CHECK(map.next_run(1000, 4) == Run{4, 1});
  map.take(Run{4, 1});
  CHECK(map.next_run(1000, 4) == Run{6, 4});
  map.give_back(*first);
  CHECK(map.next_run(1000, 4) == Run{0, 4});
}

TEST_CASE("nothing is asked for beyond the window ahead of the landed prefix") {
  ChunkMap map{100, 10};
  map.take(Run{0, 3});
  CHECK_FALSE(map.next_run(30, 4));
  CHECK(map.next_run(31, 4) == Run{3, 4});
  map.set_landed(1);  // not the prefix
  CHECK_FALSE(map.next_run(30, 4));
  map.set_landed(0);
  CHECK(map.next_run(30, 4) == Run{3, 4});
  CHECK(map.next_run(0, 4) == std::nullopt);  // chunk 2, the only one in reach, is in flight
}

TEST_CASE("the prefix grows over what landed before, shrinks when a chunk is dropped") {
  ChunkMap map{95, 10};
  for (std::uint64_t chunk = 9; chunk > 0; --chunk) map.set_landed(chunk);
  CHECK(map.prefix_bytes() == 0);
  map.set_landed(0);
  CHECK(map.complete());
  CHECK(map.prefix_bytes() == 95);
  CHECK(map.set_missing(7));
  CHECK(map.prefix_bytes() == 70);
  CHECK_FALSE(map.set_missing(7));
  CHECK_FALSE(map.complete());
}

TEST_CASE("an empty object is complete at once") {
  const ChunkMap map{0, 10};
  CHECK(map.complete());
  CHECK(map.prefix_bytes() == 0);
  CHECK_FALSE(map.next_run(100, 1));
}

TEST_CASE("chunks that nobody has asked for are counted") {
  ChunkMap map{95, 10};
  CHECK(map.missing() == 10);
  map.take(Run{0, 4});
  CHECK(map.missing() == 6);
  map.set_landed(1);
  map.set_landed(9);
  CHECK(map.missing() == 5);
  map.give_back(Run{0, 4});
  CHECK(map.missing() == 8);
  map.set_missing(1);
  CHECK(map.missing() == 9);
  map.set_landed(1);
  map.set_landed(1);
  CHECK(map.missing() == 8);
}
