// SPDX-License-Identifier: Apache-2.0
#include "decant/net/transport.hpp"

#include <fmt/format.h>

namespace decant::net {

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
  const BodySink sink{.on_head = [](const ResponseHead&) { return true; },
                      .on_body =
                          [&](Bytes bytes) {
                            fetched.too_large = bytes.size() > limit - fetched.body.size();
                            if (fetched.too_large) return false;
                            fetched.body += as_text(bytes);
                            return true;
                          }};
  fetched.outcome = transport.perform(request, sink, stop);
  if (fetched.too_large) {
    fetched.outcome.end = TransferEnd::protocol;
    fetched.outcome.detail = fmt::format("the answer is larger than {}", format_size(limit));
  }
  return fetched;
}

}  // namespace decant::net
