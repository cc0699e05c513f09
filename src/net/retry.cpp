// SPDX-License-Identifier: Apache-2.0
#include "decant/net/retry.hpp"

#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>

#include "decant/base/text.hpp"

namespace decant::net {
namespace {

constexpr std::array k_passing_statuses{408, 425, 429, 500, 502, 503, 504};
constexpr std::uint64_t k_longest_wait = 366ULL * 24 * 3600;  // what policies cut further

// Seconds, however many digits; nullopt for anything but digits.
std::optional<std::uint64_t> parse_seconds(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return std::min(parse_u64(text).value_or(k_longest_wait), k_longest_wait);
}

// The t of a list item such as `"api";r=0;t=55` that has nothing left; nullopt otherwise.
std::optional<std::uint64_t> exhausted_for(std::string_view item) {
  std::optional<std::uint64_t> left;
  std::optional<std::uint64_t> reset;
  for (const auto& parameter : split(item, ';')) {
    const std::string_view text = trim(parameter);
    if (text.substr(0, 2) == "r=") left = parse_seconds(text.substr(2));
    if (text.substr(0, 2) == "t=") reset = parse_seconds(text.substr(2));
  }
  return left == 0U ? reset : std::nullopt;
}

double random_fraction() {
  thread_local std::mt19937_64 generator{std::random_device{}()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(generator);
}

std::string reason_of(const Outcome& outcome) {
  switch (outcome.end) {
    case TransferEnd::stalled:
      return "the server sent nothing for too long";
    case TransferEnd::cut:
      return "the connection was cut";
    case TransferEnd::no_connect:
      return "no connection: " + outcome.detail;
    default:
      return outcome.head.status == 429 ? "the server limits requests (HTTP 429)"
                                        : fmt::format("HTTP {}", outcome.head.status);
  }
}

}  // namespace

Judgement judge(const Outcome& outcome) {
  switch (outcome.end) {
    case TransferEnd::cut:
    case TransferEnd::stalled:
    case TransferEnd::no_connect:
      return Judgement::retry;
    case TransferEnd::tls:
    case TransferEnd::proxy:
    case TransferEnd::protocol:
      return Judgement::give_up;
    case TransferEnd::complete:
    case TransferEnd::sink_stopped:
      break;
  }
  const int status = outcome.head.status;
  if (status >= 200 && status < 400) return Judgement::ok;
  const bool passing =
      std::find(k_passing_statuses.begin(), k_passing_statuses.end(), status) != k_passing_statuses.end();
  return passing ? Judgement::retry : Judgement::give_up;
}

std::optional<std::chrono::seconds> server_wait(const ResponseHead& head, std::int64_t wall_now) {
  std::optional<std::uint64_t> longest;
  for (const auto& item : split(head.header("ratelimit"), ',')) {
    if (const auto reset = exhausted_for(item)) longest = std::max(longest.value_or(0), *reset + 1);
  }
  if (longest) return std::chrono::seconds{*longest};

  const std::string retry_after{trim(head.header("retry-after"))};
  if (const auto seconds = parse_seconds(retry_after)) return std::chrono::seconds{*seconds};
  const auto date = parse_http_date(retry_after);
  if (!date) return std::nullopt;
  const std::int64_t wait = std::max<std::int64_t>(0, *date - wall_now);
  return std::chrono::seconds{std::min(wait, static_cast<std::int64_t>(k_longest_wait))};
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return std::nullopt;  // each form has a time of day
  const time_t date = curl_getdate(std::string{text}.c_str(), nullptr);
  return date < 0 ? std::nullopt : std::optional{std::int64_t{date}};
}

RetryingFetcher::RetryingFetcher(Transport& transport, Clock& clock, BackoffPolicy policy,
                                 std::function<void(std::string_view)> on_wait, Translate translate)
    : transport_{transport},
      clock_{clock},
      policy_{policy},
      on_wait_{std::move(on_wait)},
      translate_{std::move(translate)} {}

FetchedBody RetryingFetcher::fetch(const Request& request, std::uint64_t limit, const Stop& stop) {
  bool waited = false;
  for (int failures = 1;; ++failures) {
    FetchedBody fetched = fetch_body(transport_, request, limit, stop);
    if (translate_) translate_(fetched);
    std::optional<std::chrono::milliseconds> wait;
    if (judge(fetched.outcome) == Judgement::retry) {
      const auto asked = server_wait(fetched.outcome.head, clock_.wall_seconds());
      wait = next_wait(policy_, failures, asked, random_fraction());
    }
    if (!wait) {
      if (waited && on_wait_) on_wait_("");
      return fetched;
    }
    if (on_wait_) {
      on_wait_(fmt::format("{}: {}; trying again in {:.1f} s (try {} of {})", request.url.origin.str(),
                           escape_for_display(reason_of(fetched.outcome)),
                           static_cast<double>(wait->count()) / 1000.0, failures + 1,
                           policy_.max_tries_without_progress));
    }
    waited = true;
    clock_.sleep(*wait, stop);
  }
}

}  // namespace decant::net
