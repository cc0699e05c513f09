// SPDX-License-Identifier: Apache-2.0
#include "range_record.hpp"

#include "decant/hash/hasher.hpp"
#include "support/catch.hpp"

using namespace decant;
using namespace decant::cache;

namespace {

RangeHeader example(std::uint8_t salt = 7) {
  RangeHeader header{.chunk_bytes = 4 * k_mib, .size = 123'456'789, .digest = hash::sha256("x")};
  header.salt.fill(salt);
  return header;
}

}  // namespace

TEST_CASE("a range record's header comes back as it was") {
  for (const auto algorithm : {hash::Algorithm::sha256, hash::Algorithm::git_sha1}) {
    hash::Hasher hasher{algorithm, 0};
    RangeHeader header = example();
    header.digest = hasher.finish();
    const auto again = parse_range_header(print_range_header(header));
    REQUIRE(again);
    CHECK(again->chunk_bytes == header.chunk_bytes);
    CHECK(again->size == header.size);
    CHECK(again->digest == header.digest);
    CHECK(again->salt == header.salt);
  }
}

TEST_CASE("a header with any byte changed or missing is no header") {
  const RangeHeaderBytes good = print_range_header(example());
  for (std::size_t i = 0; i < good.size(); ++i) {
    CAPTURE(i);
    RangeHeaderBytes bad = good;
    bad[i] ^= std::byte{0x10};
    CHECK_FALSE(parse_range_header(bad));
    CHECK_FALSE(parse_range_header(Bytes{good}.first(i)));
  }
  CHECK_FALSE(parse_range_header(RangeHeaderBytes{}));
}

TEST_CASE("a slot counts only where and as it was written") {
  const RangeHeader header = example();
  for (const std::uint32_t crc : {0U, 1U, 0xDEADBEEFU, 0xFFFFFFFFU}) {
    const RangeSlotBytes slot = print_range_slot(header, 5, crc);
    CHECK(parse_range_slot(header, 5, slot) == crc);
    CHECK_FALSE(parse_range_slot(header, 6, slot));
    CHECK_FALSE(parse_range_slot(example(8), 5, slot));
    CHECK_FALSE(parse_range_slot(header, 5, Bytes{slot}.first(7)));
    for (std::size_t i = 0; i < slot.size(); ++i) {
      RangeSlotBytes torn = slot;
      torn[i] ^= std::byte{0x01};
      CHECK_FALSE(parse_range_slot(header, 5, torn));
    }
  }
}

TEST_CASE("a zeroed slot is missing for every chunk") {
  const RangeHeader header = example();
  for (std::uint64_t chunk = 0; chunk < 100'000; ++chunk) {
    if (parse_range_slot(header, chunk, RangeSlotBytes{})) FAIL("chunk " << chunk);
  }
}
