// SPDX-License-Identifier: Apache-2.0
#include "decant/base/bytes.hpp"

#include <limits>
#include <vector>

#include "support/catch.hpp"

namespace {

constexpr std::uint64_t k_max = std::numeric_limits<std::uint64_t>::max();

TEST_CASE("sizes are told in decimal units") {
  CHECK(decant::format_size(0) == "0 B");
  CHECK(decant::format_size(999) == "999 B");
  CHECK(decant::format_size(1000) == "1.0 kB");
  CHECK(decant::format_size(99'949) == "99.9 kB");
  CHECK(decant::format_size(99'950) == "100 kB");
  CHECK(decant::format_size(999'499) == "999 kB");
  CHECK(decant::format_size(999'500) == "1.0 MB");
  CHECK(decant::format_size(213'400'000) == "213 MB");
  CHECK(decant::format_size(1'430'000'000) == "1.4 GB");
  CHECK(decant::format_size(k_max) == "18.4 EB");
}

TEST_CASE("counts are grouped and durations have two parts") {
  CHECK(decant::format_count(0) == "0");
  CHECK(decant::format_count(999) == "999");
  CHECK(decant::format_count(48'211) == "48,211");
  CHECK(decant::format_count(1'000'000) == "1,000,000");
  CHECK(decant::format_duration(42) == "42 s");
  CHECK(decant::format_duration(187) == "3 min 07 s");
  CHECK(decant::format_duration(3600) == "1 h 00 min");
  CHECK(decant::format_duration(7500) == "2 h 05 min");
  CHECK(decant::format_duration(100'000) == "27 h 46 min");
}

TEST_CASE("sizes are read with their units") {
  struct Row {
    const char* text;
    std::optional<std::uint64_t> bytes;
  };
  for (const Row& row : std::vector<Row>{{"0", 0},
                                         {"1000000", 1'000'000},
                                         {"192M", 192 * decant::k_mib},
                                         {"1.5G", decant::k_gib + decant::k_gib / 2},
                                         {"64KiB", 65'536},
                                         {"2TB", 2'000'000'000'000},
                                         {"3kB", 3000},
                                         {"3KB", 3000},
                                         {"0.000001T", 1'099'511},
                                         {"9223372036854775807", 9'223'372'036'854'775'807},
                                         {"9223372036854775808", {}},
                                         {"8388608T", {}},
                                         {"18446744073709551615T", {}},
                                         {"", {}},
                                         {"M", {}},
                                         {".5G", {}},
                                         {"1.G", {}},
                                         {"1.5", {}},
                                         {"1.0000001G", {}},
                                         {"-1", {}},
                                         {"+1", {}},
                                         {" 1", {}},
                                         {"1 M", {}},
                                         {"1m", {}},
                                         {"1MM", {}},
                                         {"0x10", {}},
                                         {"1e3", {}}}) {
    INFO(row.text);
    CHECK(decant::parse_size(row.text) == row.bytes);
  }
}

TEST_CASE("numbers are plain decimal digits") {
  CHECK(decant::parse_u64("0") == 0U);
  CHECK(decant::parse_u64("007") == 7U);
  CHECK(decant::parse_u64("18446744073709551615") == k_max);
  for (const char* bad : {"", "18446744073709551616", "-1", "+1", " 1", "1 ", "1.0", "a", "1a"}) {
    INFO(bad);
    CHECK_FALSE(decant::parse_u64(bad).has_value());
  }
}

}  // namespace
