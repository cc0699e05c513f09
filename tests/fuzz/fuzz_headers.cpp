// SPDX-License-Identifier: Apache-2.0
// Header values and URLs as a hub, a storage, a mirror or a proxy may send them. The first byte chooses the
// parser.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "answers.hpp"
#include "checks.hpp"
#include "decant/net/content_range.hpp"
#include "decant/net/retry.hpp"
#include "redirect.hpp"
#include "signed_url.hpp"

using namespace decant;
using namespace decant::hub;

namespace {

constexpr std::int64_t k_now = 1'790'000'000;

void need(bool holds) {
  if (!holds) std::abort();
}

void content_range(std::string_view text) {
  const auto range = net::parse_content_range(text);
  if (!range) return;
  need(range->first <= range->last && range->last < range->total);
  const auto again =
      net::parse_content_range("bytes " + std::to_string(range->first) + "-" + std::to_string(range->last) +
                               "/" + std::to_string(range->total));
  need(again && again->first == range->first && again->last == range->last && again->total == range->total);
}

void link(std::string_view text) {
  const auto next = next_link({.status = 200, .headers = {{"link", std::string{text}}}});
  need(next.size() <= text.size());
  const auto base = net::parse_url("https://hub.example/api/datasets/a/b/tree/c?recursive=true");
  if (const auto url = net::resolve_reference(*base, next)) need(net::parse_url(url->str()) == url);
}

void waits(std::string_view text) {
  const auto half = std::min(text.find('\n'), text.size());
  const net::ResponseHead head{.status = 429,
                               .headers = {{"ratelimit", std::string{text.substr(0, half)}},
                                           {"retry-after", std::string{text.substr(half)}}}};
  const auto wait = net::server_wait(head, k_now);
  if (!wait) return;
  need(wait->count() >= 0);
  const auto next = next_wait({}, 1, wait, 0.5);
  need(next && *next <= std::chrono::seconds{301});
}

void urls(std::string_view text) {
  const auto url = net::parse_url(text);
  if (url) {
    need(net::parse_url(url->str()) == url);
    const std::string shown = url->redacted();
    const auto query = std::min(shown.find('?'), shown.size());
    need(shown.substr(query).empty() || shown.substr(query) == "?...");
    if (const auto life = usable_for(*url, k_now)) need(life->count() >= 0);
  }
  const auto from = net::parse_url("https://hub.example/datasets/a/b/resolve/c/d?x=y");
  const auto hop = next_hop(*from, text, from->origin, 0);
  need(hop.url.has_value() == hop.refusal.empty());
  if (hop.url) need(hop.url->origin.scheme == "https");  // never back to http
}

void tags(std::string_view text) {
  const net::ResponseHead head{.status = 200,
                               .headers = {{"etag", std::string{text}},
                                           {"x-linked-etag", std::string{text}},
                                           {"x-linked-size", std::string{text}},
                                           {"x-repo-commit", std::string{text}}}};
  need(bare_etag(text).size() <= text.size());
  if (const auto digest = stated_digest(head)) need(digest->valid());
  contradiction(head, std::string(40, 'a'), "path", nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text{reinterpret_cast<const char*>(data) + 1, size - 1};
  switch (data[0] % 6U) {
    case 0:
      content_range(text);
      break;
    case 1:
      link(text);
      break;
    case 2:
      waits(text);
      break;
    case 3:
      net::parse_http_date(text);
      break;
    case 4:
      urls(text);
      break;
    default:
      tags(text);
  }
  return 0;
}
