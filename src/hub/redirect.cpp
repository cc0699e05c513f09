// SPDX-License-Identifier: Apache-2.0
#include "redirect.hpp"

#include <fmt/format.h>

#include "decant/base/text.hpp"

namespace decant::hub {
namespace {

// A target that did not parse, as far as it can be shown: nothing after '?', and no user information.
std::string shown(std::string_view location) {
  std::string text{location.substr(0, location.find('?'))};
  const auto at = text.rfind('@');
  const auto slashes = text.find("//");
  if (at != std::string::npos)
    text.replace(0, at, slashes == std::string::npos ? "..." : text.substr(0, slashes) + "//...");
  if (text.size() > 200) text.resize(200);
  return escape_for_display(text);
}

}  // namespace

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

NextHop next_hop(const net::Url& from, std::string_view location, const net::Origin& endpoint, int hops) {
  if (location.empty()) return {.refusal = "a redirect without a target"};
  if (hops >= k_most_hops) return {.refusal = fmt::format("more than {} redirects", k_most_hops)};
  auto target = net::resolve_reference(from, location);
  if (!target) return {.refusal = "a redirect to " + shown(location)};
  const auto refuse = [&](std::string_view why) {
    return NextHop{.refusal = fmt::format("a redirect {} to {}", why, target->redacted())};
  };
  if (target->origin.scheme == "http") {
    if (from.origin.scheme == "https") return refuse("from https");
    const bool same = target->origin == from.origin;
    const bool local = target->origin.is_loopback() && endpoint.is_loopback();
    if (!same && !local) return refuse("without encryption");
  }
  return {.url = std::move(target)};
}

}  // namespace decant::hub
