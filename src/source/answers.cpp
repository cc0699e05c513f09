// SPDX-License-Identifier: Apache-2.0
#include "answers.hpp"

#include <fmt/format.h>

#include "decant/base/text.hpp"
#include "decant/net/content_range.hpp"

namespace decant::source {
namespace {

Problem other_object(const std::string& mirror, const Object& object, std::string_view what,
                     std::string expected, std::string found) {
  return {.kind = ErrorKind::integrity,
          .thing = fmt::format("{}: {} has {}", escape_for_display(object.path.str()), mirror, what),
          .expected = std::move(expected),
          .found = std::move(found),
          .hint = "the mirror's copy is damaged or of another release; copy it anew"};
}

std::string range_text(const Object& object, ByteRange range) {
  return fmt::format("bytes {}-{}/{}", range.offset, range.end() - 1, object.size);
}

}  // namespace

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

NextHop next_hop(const net::Url& from, std::string_view location, const MirrorBase& base, int hops) {
  if (hops >= k_most_hops) return {.refusal = fmt::format("more than {} redirects", k_most_hops)};
  const auto target = location.empty() ? std::optional<net::Url>{} : net::resolve_reference(from, location);
  if (!target) return {.refusal = "a redirect without a target that can be used"};
  if (target->origin.scheme == "http") {
    if (from.origin.scheme == "https") return {.refusal = "a redirect from https to " + target->redacted()};
    if (target->origin.host != base.origin.host)
      return {.refusal = "a redirect without encryption to " + target->redacted()};
  }
  return {.url = target};
}

BodyVerdict judge_body(const net::ResponseHead& head, const Object& object, ByteRange range,
                       const std::string& mirror) {
  BodyVerdict verdict;
  const auto announced = parse_u64(head.header("content-length"));
  verdict.exact_length = announced == range.length;
  const auto other = [&](std::string expected, std::string found) {
    verdict.end = ReadEnd::wrong_object;
    verdict.problem =
        other_object(mirror, object, "another size or range", std::move(expected), std::move(found));
    return verdict;
  };
  if (head.status == 206) {
    const auto text = head.header("content-range");
    const auto got = net::parse_content_range(text);
    if (got && got->first == range.offset && got->total == object.size) return verdict;
    return other(range_text(object, range),
                 text.empty() ? "no Content-Range" : escape_for_display(text.substr(0, 100)));
  }
  if (head.status == 416) {
    const auto text = head.header("content-range");
    return other(range_text(object, range),
                 text.empty() ? "HTTP 416" : "HTTP 416, " + escape_for_display(text.substr(0, 100)));
  }
  if (announced && *announced != object.size)
    return other(fmt::format("{} bytes", object.size), fmt::format("{} bytes", *announced));
  if (range.offset == 0 && range.length == object.size) return verdict;
  verdict.end = ReadEnd::range_ignored;
  verdict.problem = {.kind = ErrorKind::network,
                     .thing = fmt::format("{}: {} sends the whole file instead of a range",
                                          escape_for_display(object.path.str()), mirror),
                     .expected = fmt::format("HTTP 206 from byte {} on", range.offset),
                     .found = fmt::format("HTTP {}", head.status),
                     .hint = "the file is read from its start"};
  return verdict;
}

Problem mirror_refusal(std::string_view what, const std::string& mirror, const net::Outcome& outcome) {
  const std::string shown = escape_for_display(what);
  const auto end = outcome.end;
  if (end != net::TransferEnd::complete && end != net::TransferEnd::sink_stopped) {
    std::string found =
        outcome.detail.empty() ? std::string{to_string(end)} : escape_for_display(outcome.detail);
    return {.kind = ErrorKind::network,
            .thing = fmt::format("{}: the mirror {} cannot be read", shown, mirror),
            .found = std::move(found),
            .hint = end == net::TransferEnd::tls || end == net::TransferEnd::proxy
                        ? "check the mirror's certificate and the proxy settings"
                        : "check that the mirror runs, then run the same command again"};
  }
  const int status = outcome.head.status;
  const bool passing = status >= 500 || status == 429 || status == 408 || status == 425;
  return {.kind = passing ? ErrorKind::network : ErrorKind::access,
          .thing = fmt::format("{}: the mirror {} refuses to send it", shown, mirror),
          .found = fmt::format("HTTP {}", status),
          .hint = passing ? "run the same command again; what has arrived is kept"
                          : "check the address and that everybody may read what lies there"};
}

}  // namespace decant::source
