// SPDX-License-Identifier: Apache-2.0
#include "support/hub/http_message.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

namespace decant::test {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

std::string encode(std::string_view text, bool keep_slash) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (is_unreserved(c) || (keep_slash && c == '/')) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 15U];
  }
  return out;
}

template <class Fn>
void for_each_piece(std::string_view text, char separator, Fn fn) {
  while (true) {
    const auto end = std::min(text.find(separator), text.size());
    fn(text.substr(0, end));
    if (end == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint64_t> digits_only(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view find_header(const Headers& headers, std::string_view name) {
  const auto found =
      std::find_if(headers.begin(), headers.end(), [&](const auto& h) { return same_name(h.first, name); });
  return found == headers.end() ? std::string_view{} : std::string_view{found->second};
}

}  // namespace

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string percent_encode_all(std::string_view text) {
  return encode(text, false);
}
std::string percent_encode_path(std::string_view text) {
  return encode(text, true);
}

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string_view status_text(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Payload Too Large";
    case 416:
      return "Range Not Satisfiable";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Status";
  }
}

std::string http_date(std::int64_t unix_seconds) {
  const auto when = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  std::array<char, 64> text{};
  const auto n = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), n};
}

std::string_view HttpRequest::header(std::string_view name) const {
  return find_header(headers, name);
}

bool HttpRequest::has_header(std::string_view name) const {
  return std::any_of(headers.begin(), headers.end(), [&](const auto& h) { return same_name(h.first, name); });
}

std::string_view HttpRequest::raw_path() const {
  return std::string_view{target}.substr(0, std::min(target.find('?'), target.size()));
}

std::string_view HttpRequest::raw_query() const {
  const auto mark = target.find('?');
  return mark == std::string::npos ? std::string_view{} : std::string_view{target}.substr(mark + 1);
}

std::vector<std::string> HttpRequest::path_segments() const {
  std::vector<std::string> segments;
  std::string_view path = raw_path();
  if (path.starts_with('/')) path.remove_prefix(1);
  for_each_piece(path, '/', [&](std::string_view piece) { segments.push_back(percent_decode(piece)); });
  return segments;
}

std::vector<std::pair<std::string, std::string>> HttpRequest::query() const {
  std::vector<std::pair<std::string, std::string>> items;
  if (raw_query().empty()) return items;
  for_each_piece(raw_query(), '&', [&](std::string_view piece) {
    const auto equals = std::min(piece.find('='), piece.size());
    items.emplace_back(percent_decode(piece.substr(0, equals)),
                       percent_decode(piece.substr(std::min(equals + 1, piece.size()))));
  });
  return items;
}

std::string HttpRequest::query_value(std::string_view name) const {
  for (const auto& [key, value] : query()) {
    if (key == name) return value;
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> parse_form(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> fields;
  if (text.empty()) return fields;
  const auto decode = [](std::string_view piece) {
    std::string plain{piece};
    std::replace(plain.begin(), plain.end(), '+', ' ');
    return percent_decode(plain);
  };
  for_each_piece(text, '&', [&](std::string_view piece) {
    const auto equals = std::min(piece.find('='), piece.size());
    fields.emplace_back(decode(piece.substr(0, equals)),
                        decode(piece.substr(std::min(equals + 1, piece.size()))));
  });
  return fields;
}

std::optional<RequestedRange> parse_range(std::string_view value) {
  constexpr std::string_view unit = "bytes=";
  if (!value.starts_with(unit)) return std::nullopt;
  value.remove_prefix(unit.size());
  const auto dash = value.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto left = value.substr(0, dash);
  const auto right = value.substr(dash + 1);
  const RequestedRange range{.first = digits_only(left), .last = digits_only(right)};
  if ((!left.empty() && !range.first) || (!right.empty() && !range.last)) return std::nullopt;
  if (!range.first && !range.last) return std::nullopt;
  if (range.first && range.last && *range.first > *range.last) return std::nullopt;
  return range;
}

std::uint64_t HttpResponse::body_size() const {
  if (const auto* slice = std::get_if<ContentSlice>(&body)) return slice->length;
  return std::get<std::string>(body).size();
}

void HttpResponse::set(std::string_view name, std::string value) {
  std::erase_if(headers, [&](const auto& h) { return same_name(h.first, name); });
  if (!value.empty()) headers.emplace_back(std::string{name}, std::move(value));
}

std::string_view HttpResponse::header(std::string_view name) const {
  return find_header(headers, name);
}

}  // namespace decant::test
