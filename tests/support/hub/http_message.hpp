// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "support/hub/content.hpp"

namespace decant::test {

using Headers = std::vector<std::pair<std::string, std::string>>;

std::string percent_decode(std::string_view text);       // '+' stays
std::string percent_encode_all(std::string_view text);   // everything but unreserved characters
std::string percent_encode_path(std::string_view text);  // keeps '/'
std::string_view status_text(int status);
std::string http_date(std::int64_t unix_seconds);
bool same_name(std::string_view a, std::string_view b);  // header names: ASCII case does not matter

struct HttpRequest {
  std::string method;
  std::string target;  // as sent
  bool http_1_0 = false;
  Headers headers;
  std::string body;

  std::string_view header(std::string_view name) const;  // first value; empty when absent
  bool has_header(std::string_view name) const;
  std::string_view raw_path() const;
  std::string_view raw_query() const;
  std::vector<std::string> path_segments() const;  // split at '/', then decoded; no leading empty one
  std::vector<std::pair<std::string, std::string>> query() const;  // decoded
  std::string query_value(std::string_view name) const;            // empty when absent
};

// "a=b&c=d", decoded with '+' as a space (application/x-www-form-urlencoded).
std::vector<std::pair<std::string, std::string>> parse_form(std::string_view text);

// One `bytes=` range; several ranges or another unit count as none.
struct RequestedRange {
  std::optional<std::uint64_t> first;  // absent: the last `last` bytes
  std::optional<std::uint64_t> last;   // absent: to the end
};
std::optional<RequestedRange> parse_range(std::string_view value);

// A piece of an object as a body.
struct ContentSlice {
  Content content;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

struct HttpResponse {
  int status = 200;
  Headers headers;  // Content-Length and Date are added when sent
  std::variant<std::string, ContentSlice> body;

  std::uint64_t body_size() const;
  void set(std::string_view name, std::string value);  // replaces; an empty value removes
  std::string_view header(std::string_view name) const;
};

}  // namespace decant::test
