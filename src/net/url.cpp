// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "decant/base/text.hpp"
#include "decant/net/transport.hpp"

namespace decant::net {
namespace {

constexpr std::size_t k_longest_url = 16 * 1024;

bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Control bytes and spaces have no place in a URL, and a backslash is read as '/' by some parsers.
bool is_clean(std::string_view text) {
  return text.size() <= k_longest_url && std::all_of(text.begin(), text.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte > 0x20 && byte != 0x7f && c != '\\';
         });
}

// The scheme of "scheme:rest" (RFC 3986 section 3.1), lower-case; nullopt for a relative reference.
std::optional<std::string> scheme_of(std::string_view text) {
  if (text.empty() || !is_alpha(text[0])) return std::nullopt;
  const auto end = std::find_if_not(text.begin(), text.end(), [](char c) {
    return is_alpha(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  });
  if (end == text.end() || *end != ':') return std::nullopt;
  return to_lower_ascii(std::string_view{text.data(), static_cast<std::size_t>(end - text.begin())});
}

std::uint16_t default_port(std::string_view scheme) {
  return scheme == "https" ? 443 : 80;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.size() > 5) return std::nullopt;
  const auto number = parse_u64(text);
  if (!number || *number == 0 || *number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

// "[...]" with the address in its one canonical spelling, so that equal addresses are equal text.
std::optional<std::string> parse_ipv6(std::string_view inside) {
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (inet_pton(AF_INET6, std::string{inside}.c_str(), &address) != 1) return std::nullopt;
  if (inet_ntop(AF_INET6, &address, text.data(), text.size()) == nullptr) return std::nullopt;
  return fmt::format("[{}]", text.data());
}

std::optional<std::string> parse_host(std::string_view text) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']') {
    return parse_ipv6(text.substr(1, text.size() - 2));
  }
  const bool good = !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alpha(c) || is_digit(c) || c == '.' || c == '-' || c == '_';
  });
  if (!good) return std::nullopt;
  return to_lower_ascii(text);
}

std::optional<Origin> parse_authority(std::string scheme, std::string_view text) {
  if (text.find('@') != std::string_view::npos) return std::nullopt;
  const auto bracket = text.find(']');
  const auto colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  auto host = parse_host(text.substr(0, colon));
  if (!host) return std::nullopt;
  auto port = std::optional{default_port(scheme)};
  if (colon != std::string_view::npos && colon + 1 < text.size()) port = parse_port(text.substr(colon + 1));
  if (!port) return std::nullopt;
  return Origin{.scheme = std::move(scheme), .host = std::move(*host), .port = *port};
}

std::string_view path_of(std::string_view path_and_query) {
  return path_and_query.substr(0, path_and_query.find('?'));
}

// RFC 3986 section 5.2.4. Percent-encoded dots and slashes are no dots and slashes here.
std::string without_dot_segments(std::string_view path_and_query) {
  const std::string_view path = path_of(path_and_query);
  const std::string_view query = path_and_query.substr(path.size());
  std::vector<std::string> kept;
  const auto segments = split(path.substr(1), '/');
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool last = i + 1 == segments.size();
    if (segments[i] == "." || segments[i] == "..") {
      if (segments[i] == ".." && !kept.empty()) kept.pop_back();
      if (last) kept.emplace_back();
    } else {
      kept.push_back(segments[i]);
    }
  }
  std::string result;
  for (const auto& segment : kept) result += "/" + segment;
  return (result.empty() ? "/" : result) + std::string{query};
}

}  // namespace

std::string Origin::str() const {
  return port == default_port(scheme) ? fmt::format("{}://{}", scheme, host)
                                      : fmt::format("{}://{}:{}", scheme, host, port);
}

bool Origin::is_loopback() const {
  if (host == "localhost" || host == "[::1]" || host == "::1") return true;
  in_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 && (ntohl(address.s_addr) >> 24U) == 127;
}

std::string Url::str() const {
  return origin.str() + path_and_query;
}

std::string Url::redacted() const {
  const std::string_view path = path_of(path_and_query);
  return escape_for_display(origin.str() + std::string{path}) +
         (path.size() < path_and_query.size() ? "?..." : "");
}

std::optional<Url> parse_url(std::string_view text) {
  if (!is_clean(text)) return std::nullopt;
  auto scheme = scheme_of(text);
  if (!scheme || (*scheme != "http" && *scheme != "https")) return std::nullopt;
  text.remove_prefix(scheme->size() + 1);
  if (text.substr(0, 2) != "//") return std::nullopt;
  text.remove_prefix(2);
  text = text.substr(0, text.find('#'));
  const auto end = std::min(text.find_first_of("/?"), text.size());
  auto origin = parse_authority(std::move(*scheme), text.substr(0, end));
  if (!origin) return std::nullopt;
  std::string rest{text.substr(end)};
  if (rest.empty() || rest[0] == '?') rest.insert(0, 1, '/');
  return Url{.origin = std::move(*origin), .path_and_query = std::move(rest)};
}

std::optional<Url> resolve_reference(const Url& base, std::string_view location) {
  if (!is_clean(location)) return std::nullopt;
  if (scheme_of(location)) return parse_url(location);
  if (location.substr(0, 2) == "//") return parse_url(base.origin.scheme + ":" + std::string{location});
  location = location.substr(0, location.find('#'));
  if (location.empty()) return base;
  const std::string base_path{path_of(base.path_and_query)};
  Url result = base;
  if (location[0] == '/') {
    result.path_and_query = without_dot_segments(location);
  } else if (location[0] == '?') {
    result.path_and_query = base_path + std::string{location};
  } else {
    result.path_and_query =
        without_dot_segments(base_path.substr(0, base_path.rfind('/') + 1) + std::string{location});
  }
  return result;
}

std::string percent_encode(std::string_view text, Slash slash) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const bool plain = is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~' ||
                       (c == '/' && slash == Slash::keep);
    if (plain) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

}  // namespace decant::net
