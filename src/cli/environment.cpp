// SPDX-License-Identifier: Apache-2.0
#include "environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "decant/base/bytes.hpp"
#include "decant/base/text.hpp"
#include "release_options.hpp"

namespace decant::cli {

namespace {

constexpr std::uint64_t k_longest_seconds = 86'400;

// The official client takes whole seconds here, and ends with an error for anything else.
std::optional<std::chrono::milliseconds> seconds_in(const Session& session, const std::string& name) {
  const auto value = session.env(name);
  if (!value) return std::nullopt;
  const auto number = parse_u64(trim(*value));
  if (!number || *number == 0 || *number > k_longest_seconds)
    throw Error{Problem{.kind = ErrorKind::usage,
                        .thing = fmt::format("the environment variable {} is no time", name),
                        .expected = fmt::format("whole seconds from 1 to {}", k_longest_seconds),
                        .found = escape_for_display(*value),
                        .hint = "correct or unset it"}};
  return std::chrono::seconds{static_cast<std::int64_t>(*number)};
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

bool is_on(const std::optional<std::string>& value) {
  constexpr std::array<std::string_view, 4> k_on{"1", "on", "yes", "true"};
  return value && std::ranges::find(k_on, to_lower_ascii(*value)) != k_on.end();
}

std::optional<std::string> forbids_network(const Session& session) {
  if (const auto value = session.env("DECANT_OFFLINE"))
    return is_on(value) ? std::optional<std::string>{"DECANT_OFFLINE"} : std::nullopt;
  if (const auto value = session.env("HF_HUB_OFFLINE"))
    return is_on(value) ? std::optional<std::string>{"HF_HUB_OFFLINE"} : std::nullopt;
  if (is_on(session.env("TRANSFORMERS_OFFLINE"))) return "TRANSFORMERS_OFFLINE";
  return std::nullopt;
}

void set_network_limits(const Session& session, const std::string& stall_flag,
                        net::TransportOptions& options) {
  if (!stall_flag.empty())
    options.stall_timeout = parse_time(stall_flag, "--stall-timeout");
  else
    options.stall_timeout = seconds_in(session, "HF_HUB_DOWNLOAD_TIMEOUT").value_or(options.stall_timeout);
  const auto no_longer_than_a_stall =
      std::min(options.connect_timeout, std::max(options.stall_timeout, std::chrono::milliseconds{1000}));
  options.connect_timeout = seconds_in(session, "HF_HUB_ETAG_TIMEOUT").value_or(no_longer_than_a_stall);
  // libcurl reads the proxy variables by itself, but none of these.
  for (const auto* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"})
    if (const auto file = session.env(name); file && options.ca_file.empty()) options.ca_file = *file;
}

std::string expand_path(const std::string& path, const Session& session) {
  std::string rest = path;
  if (path == "~" || path.starts_with("~/")) rest = session.env("HOME").value_or("") + path.substr(1);
  std::string out;
  for (std::size_t at = 0; at < rest.size();) {
    const bool braced = rest.compare(at, 2, "${") == 0;
    std::size_t end = at + (braced ? 2 : 1);
    const std::size_t begin = end;
    while (rest[at] == '$' && end < rest.size() && is_name_character(rest[end])) ++end;
    const auto value = end > begin ? session.env(rest.substr(begin, end - begin)) : std::nullopt;
    const bool closed = !braced || (end < rest.size() && rest[end] == '}');
    if (value && closed) {
      out += *value;
      at = end + (braced ? 1 : 0);
    } else {
      out += rest[at++];
    }
  }
  return out;
}

}  // namespace decant::cli
