// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <string>

#include "crc32c_ways.hpp"
#include "decant/hash/hasher.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace {

using decant::as_bytes;
using decant::hash::crc32c;

TEST_CASE("CRC-32C gives the numbers of RFC 3720 appendix B.4") {
  std::string rising(32, '\0');
  std::iota(rising.begin(), rising.end(), '\0');
  const std::string falling{rising.rbegin(), rising.rend()};
  std::string read_command(48, '\0');
  const std::pair<std::size_t, unsigned char> set[] = {{0, 0x01},  {1, 0xC0},  {16, 0x14}, {22, 0x04},
                                                       {27, 0x14}, {31, 0x18}, {32, 0x28}, {40, 0x02}};
  for (const auto& [at, value] : set) read_command[at] = static_cast<char>(value);

  CHECK(crc32c(0, as_bytes(std::string(32, '\0'))) == 0x8A9136AAU);
  CHECK(crc32c(0, as_bytes(std::string(32, '\xFF'))) == 0x62A8AB43U);
  CHECK(crc32c(0, as_bytes(rising)) == 0x46DD794EU);
  CHECK(crc32c(0, as_bytes(falling)) == 0x113FDB5CU);
  CHECK(crc32c(0, as_bytes(read_command)) == 0xD9963A56U);
  CHECK(crc32c(0, as_bytes("123456789")) == 0xE3069283U);
  CHECK(crc32c(0, {}) == 0);
}

TEST_CASE("CRC-32C goes on from piece to piece, wherever it is cut") {
  const std::string bytes = decant::test::random_bytes(1, 1000);
  const std::uint32_t whole = crc32c(0, as_bytes(bytes));
  for (std::size_t cut = 0; cut <= bytes.size(); cut += 37) {
    const std::uint32_t first = crc32c(0, as_bytes(std::string_view{bytes}.substr(0, cut)));
    CHECK(crc32c(first, as_bytes(std::string_view{bytes}.substr(cut))) == whole);
  }
}

TEST_CASE("the instruction and the tables agree on any length and alignment") {
  if (!decant::hash::has_crc32c_instruction())
    WARN("no CRC-32C instruction here: only the tables are tested");
  const std::string bytes = decant::test::random_bytes(2, 5000);
  for (std::size_t i = 0; i < 600; ++i) {
    const auto piece = as_bytes(std::string_view{bytes}.substr(i % 17, i * 8 + i % 9));
    const auto start = static_cast<std::uint32_t>(i * 2654435761U);
    const std::uint32_t expected = decant::hash::crc32c_by_tables(start, piece);
    if (decant::hash::has_crc32c_instruction()) {
      CHECK(decant::hash::crc32c_by_instruction(start, piece) == expected);
    }
    CHECK(~crc32c(~start, piece) == expected);
  }
}

}  // namespace
