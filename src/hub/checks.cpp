// SPDX-License-Identifier: Apache-2.0
#include "checks.hpp"

#include <fmt/format.h>

#include "answers.hpp"
#include "decant/base/bytes.hpp"
#include "decant/base/text.hpp"
#include "decant/model/lock.hpp"
#include "decant/net/content_range.hpp"

namespace decant::hub {
namespace {

constexpr std::string_view k_hint_changed =
    "the bytes at this commit are not those of the release: ask its author";

std::string sent(std::string_view value) {
  return escape_for_display(value.substr(0, 100));
}

Problem wrong(std::string_view path, std::string_view what, std::string expected, std::string found,
              std::string_view owner = k_the_hub) {
  return {.kind = ErrorKind::integrity,
          .thing = fmt::format("{}: {} has {}", escape_for_display(path), owner, what),
          .expected = std::move(expected),
          .found = std::move(found),
          .hint = std::string{k_hint_changed}};
}

}  // namespace

std::optional<hash::Digest> stated_digest(const net::ResponseHead& head) {
  const auto linked = head.header("x-linked-etag");
  const auto tag = bare_etag(linked.empty() ? head.header("etag") : linked);
  if (tag.size() == 40) return hash::Digest::parse(hash::Algorithm::git_sha1, tag);
  // An ETag beside a redirect to storage is of the pointer, and one of 64 digits without a link of nobody
  // knows what.
  return linked.empty() ? std::nullopt : hash::Digest::parse(hash::Algorithm::sha256, tag);
}

std::optional<Problem> contradiction(const net::ResponseHead& head, std::string_view commit,
                                     std::string_view path, const source::Object* object) {
  const auto told = head.header("x-repo-commit");
  if (!told.empty() && told != commit) return wrong(path, "another commit", std::string{commit}, sent(told));
  if (object == nullptr || head.status >= 400) return std::nullopt;  // tags of an error page say nothing
  const auto size = head.header("x-linked-size");
  if (!size.empty() && parse_u64(size) != object->size) {
    return wrong(path, "another size", fmt::format("{} bytes", object->size), sent(size));
  }
  const auto digest = stated_digest(head);
  if (digest && object->digest.valid() && digest->algorithm() == object->digest.algorithm() &&
      *digest != object->digest) {
    return wrong(path, "another digest", object->digest.hex(), digest->hex());
  }
  return std::nullopt;
}

Problem out_of_range(const source::Object& object, ByteRange range, const net::ResponseHead& head,
                     std::string_view owner) {
  const auto told = head.header("content-range");
  return wrong(object.path.str(), "no such range",
               fmt::format("bytes {}-{}/{}", range.offset, range.end() - 1, object.size),
               told.empty() ? "HTTP 416" : "HTTP 416, " + sent(told), owner);
}

BodyVerdict judge_body(const net::ResponseHead& head, const source::Object& object, ByteRange range,
                       std::string_view owner) {
  BodyVerdict verdict;
  const auto announced = parse_u64(head.header("content-length"));
  verdict.exact_length = announced == range.length;
  if (head.status == 206) {
    const auto text = head.header("content-range");
    const auto got = net::parse_content_range(text);
    if (got && got->first == range.offset && got->total == object.size) return verdict;
    verdict.end = source::ReadEnd::wrong_object;
    verdict.problem = wrong(object.path.str(), "another range or size",
                            fmt::format("bytes {}-{}/{}", range.offset, range.end() - 1, object.size),
                            text.empty() ? "no Content-Range" : sent(text), owner);
    return verdict;
  }
  if (announced && *announced != object.size) {
    verdict.end = source::ReadEnd::wrong_object;
    verdict.problem = wrong(object.path.str(), "another size", fmt::format("{} bytes", object.size),
                            fmt::format("{} bytes", *announced), owner);
    return verdict;
  }
  if (range.offset == 0 && range.length == object.size) return verdict;
  verdict.end = source::ReadEnd::range_ignored;
  verdict.problem = {
      .kind = ErrorKind::network,
      .thing = fmt::format("{}: the server sends the whole file instead of a range",
                           escape_for_display(object.path.str())),
      .expected = fmt::format("HTTP 206 from byte {} on", range.offset),
      .found = fmt::format("HTTP {}", head.status),
      .hint = "a proxy that drops Range headers may stand between; the file is fetched from its start"};
  return verdict;
}

}  // namespace decant::hub
