// SPDX-License-Identifier: Apache-2.0
#include "decant/net/transport.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace decant::net {
namespace {

constexpr std::uint64_t k_error_page_limit = 64 * k_kib;

}  // namespace

bool Request::carries_secret() const {
  return (!bearer.empty() || !cookie.value.empty()) && url.origin == secret_origin;
}

std::string_view ResponseHead::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) return value;
  }
  return {};
}

std::string_view to_string(TransferEnd end) noexcept {
  switch (end) {
    case TransferEnd::complete:
      return "complete";
    case TransferEnd::cut:
      return "cut";
    case TransferEnd::stalled:
      return "stalled";
    case TransferEnd::no_connect:
      return "no_connect";
    case TransferEnd::tls:
      return "tls";
    case TransferEnd::proxy:
      return "proxy";
    case TransferEnd::sink_stopped:
      return "sink_stopped";
    case TransferEnd::protocol:
      break;
  }
  return "protocol";
}

FetchedBody fetch_body(Transport& transport, const Request& request, std::uint64_t limit, const Stop& stop) {
  FetchedBody fetched;
  bool wanted = false;
  const auto on_head = [&](const ResponseHead& head) {
    wanted = head.status >= 200 && head.status < 300;
    return true;
  };
  const auto on_body = [&](Bytes bytes) {
    const std::uint64_t most = wanted ? limit : k_error_page_limit;
    const std::uint64_t room = most - fetched.body.size();
    fetched.body +=
        as_text(bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(room, bytes.size()))));
    if (bytes.size() > room) fetched.too_large = wanted;
    return bytes.size() <= room;
  };
  fetched.outcome = transport.perform(request, {.on_head = on_head, .on_body = on_body}, stop);
  if (fetched.too_large) {
    fetched.outcome.end = TransferEnd::protocol;
    fetched.outcome.detail = fmt::format("the answer is larger than {}", format_size(limit));
  }
  return fetched;
}

}  // namespace decant::net
