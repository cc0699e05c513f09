// SPDX-License-Identifier: Apache-2.0
#include "signed_url.hpp"

#include "support/catch.hpp"

using namespace decant;
using namespace decant::hub;

namespace {

net::Url url(std::string_view query) {
  return *net::parse_url("https://cdn/x" + std::string{query});
}

}  // namespace

TEST_CASE("a signed URL tells when it ends") {
  struct Row {
    std::string query;
    std::optional<std::int64_t> expiry;
  };
  const std::vector<Row> rows{
      {"", std::nullopt},
      {"?Expires=1775739074&Signature=x", 1775739074},
      {"?X-Xet-Cas-Uid=public&Expires=1775739074", 1775739074},
      {"?expires=1775739074", 1775739074},
      {"?X-Amz-Date=20260409T125114Z&X-Amz-Expires=3600", 1775739074 + 3600},
      {"?X-Amz-Expires=3600&X-Amz-Date=20260409T125114Z", 1775739074 + 3600},
      {"?x-oss-date=20260409T125114Z&x-oss-expires=3600", 1775739074 + 3600},
      {"?X-Amz-Date=20260409T125114Z", std::nullopt},
      {"?X-Amz-Expires=3600", std::nullopt},
      {"?X-Amz-Date=yesterday&X-Amz-Expires=3600", std::nullopt},
      {"?Expires=", std::nullopt},
      {"?Expires=soon", std::nullopt},
      {"?Expires=-1", std::nullopt},
      {"?Expires=99999999999999999999", std::nullopt},
      {"?NotExpires=5&Expires", std::nullopt},
  };
  for (const auto& row : rows) {
    INFO(row.query);
    CHECK(expiry_of(url(row.query)) == row.expiry);
  }
}

TEST_CASE("a signed URL is renewed before its end") {
  const auto left = [](std::int64_t now) {
    const auto usable = usable_for(url("?Expires=10000"), now);
    return usable ? usable->count() : -1;
  };
  CHECK(left(6400) == 3540);  // an hour: a minute before
  CHECK(left(9980) == 15);    // 20 s: a quarter before
  CHECK(left(10000) == 0);
  CHECK(left(20000) == 0);
  CHECK_FALSE(usable_for(url(""), 0));
}
