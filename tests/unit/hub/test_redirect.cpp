// SPDX-License-Identifier: Apache-2.0
#include "redirect.hpp"

#include "support/catch.hpp"

using namespace decant;
using namespace decant::hub;

TEST_CASE("where a redirect may lead") {
  struct Row {
    std::string from, location, endpoint, target;  // no target: refused
  };
  const std::string hub = "https://hub/a";
  const std::string local = "http://127.0.0.1:1/a";
  const std::vector<Row> rows{
      {hub, "/b?c", hub, "https://hub/b?c"},
      {hub, "https://cdn/x?Expires=1", hub, "https://cdn/x?Expires=1"},
      {hub, "//cdn/x", hub, "https://cdn/x"},
      {"https://cdn/x", "https://cdn2/x", hub, "https://cdn2/x"},
      {hub, "http://hub/b", hub, ""},
      {hub, "http://127.0.0.1/b", hub, ""},
      {hub, "http://cdn/x", hub, ""},
      {"https://cdn/x", "http://cdn/x", hub, ""},
      {"https://127.0.0.1:1/a", "http://127.0.0.1:1/b", "https://127.0.0.1:1/", ""},
      {local, "http://127.0.0.1:2/b", local, "http://127.0.0.1:2/b"},
      {local, "http://localhost:2/b", local, "http://localhost:2/b"},
      {local, "http://cdn/b", local, ""},
      {local, "http://169.254.169.254/latest", local, ""},
      {local, "https://cdn/b", local, "https://cdn/b"},
      {"http://mirror/a", "/b", "http://mirror/", "http://mirror/b"},
      {"http://mirror/a", "http://mirror/b", "http://mirror/", "http://mirror/b"},
      {"http://mirror/a", "http://mirror:81/b", "http://mirror/", ""},
      {"http://mirror/a", "http://127.0.0.1/b", "http://mirror/", ""},
      {"http://mirror/a", "https://cdn/b", "http://mirror/", "https://cdn/b"},
      {hub, "file:///etc/passwd", hub, ""},
      {hub, "ftp://hub/x", hub, ""},
      {hub, "gopher://hub/x", hub, ""},
      {hub, "data:text/plain,x", hub, ""},
      {hub, "https://user@cdn/x", hub, ""},
      {hub, "https://user:pw@cdn/x", hub, ""},
      {hub, "https://hub@evil/x", hub, ""},
      {hub, "", hub, ""},
      {hub, "https://cdn/a b", hub, ""},
  };
  for (const auto& row : rows) {
    INFO(row.from << " -> " << row.location << " at " << row.endpoint);
    const NextHop next =
        next_hop(*net::parse_url(row.from), row.location, net::parse_url(row.endpoint)->origin, 0);
    CHECK((next.url ? next.url->str() : "") == row.target);
    CHECK(next.refusal.empty() == next.url.has_value());
  }
}

TEST_CASE("five redirects are followed, a sixth is not") {
  const auto url = *net::parse_url("https://hub/a");
  CHECK(next_hop(url, "/b", url.origin, 4).url);
  CHECK_FALSE(next_hop(url, "/b", url.origin, 5).url);
}

TEST_CASE("a refusal shows neither signature nor user") {
  const auto url = *net::parse_url("https://hub/a");
  for (const char* location :
       {"http://cdn/x?Signature=canary", "ftp://cdn/x?Signature=canary", "https://canary:canary@cdn/x",
        "ftp://canary@cdn/x", "canary://x@y", "https://cdn/ x?Signature=canary"}) {
    INFO(location);
    const auto next = next_hop(url, location, url.origin, 0);
    CHECK_FALSE(next.url);
    CHECK(next.refusal.find("canary@") == std::string::npos);
    CHECK(next.refusal.find("=canary") == std::string::npos);
    CHECK(next.refusal.find("canary:c") == std::string::npos);
  }
}
