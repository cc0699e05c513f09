// SPDX-License-Identifier: Apache-2.0
#include "curl_exchange.hpp"

#include <utility>

#include "decant/base/text.hpp"

namespace decant::net {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t k_head_limit = 128 * k_kib;
constexpr double k_slowest_bytes_per_second = 1024;
constexpr std::size_t k_longest_detail = 300;
// CURLE_TOO_LARGE: a name that libcurl has since 8.6; before that nothing ends with this number.
constexpr auto k_curle_too_large = static_cast<CURLcode>(100);

std::string presentable(std::string detail, const Url& url) {
  const auto query = url.path_and_query.find('?');
  if (query != std::string::npos && query + 1 < url.path_and_query.size()) {
    const std::string secret = url.path_and_query.substr(query + 1);
    for (auto at = detail.find(secret); at != std::string::npos; at = detail.find(secret)) {
      detail.replace(at, secret.size(), "...");
    }
  }
  detail = escape_for_display(detail);
  if (detail.size() > k_longest_detail) detail.resize(k_longest_detail);
  return detail;
}

}  // namespace

void StallWatch::start() {
  started_ = true;
  window_start_ = last_byte_ = SteadyClock::now();
  window_bytes_ = 0;
}

void StallWatch::got(std::size_t bytes, SteadyClock::time_point before_sink) {
  last_byte_ = SteadyClock::now();
  window_start_ += last_byte_ - before_sink;
  window_bytes_ += bytes;
}

bool StallWatch::stalled() {
  if (!started_) return false;
  const auto now = SteadyClock::now();
  if (now - last_byte_ >= timeout_) return true;
  if (now - window_start_ < timeout_) return false;
  const double seconds = std::chrono::duration<double>(now - window_start_).count();
  if (static_cast<double>(window_bytes_) < k_slowest_bytes_per_second * seconds) return true;
  window_start_ = now;
  window_bytes_ = 0;
  return false;
}

HeadParser::State HeadParser::line(std::string_view text, ResponseHead& head) {
  if (finished_) return State::reading;  // trailers of a chunked body
  size_ += text.size();
  if (size_ > k_head_limit) return State::too_large;
  const std::string_view content = trim(text);
  if (starts_with_ci(text, "http/")) {
    head = {};
    const auto space = content.find(' ');
    const auto status =
        space == std::string_view::npos ? std::nullopt : parse_u64(content.substr(space + 1, 3));
    head.status = static_cast<int>(status.value_or(0));
  } else if (content.empty()) {
    finished_ = head.status >= 200;
    return finished_ ? State::done : State::reading;
  } else if ((text[0] == ' ' || text[0] == '\t') && !head.headers.empty()) {
    head.headers.back().second += " " + std::string{content};
  } else if (const auto colon = content.find(':'); colon != std::string_view::npos) {
    head.headers.emplace_back(to_lower_ascii(trim(content.substr(0, colon))),
                              std::string{trim(content.substr(colon + 1))});
  }
  return State::reading;
}

void Exchange::attach(CURL* easy) {
  set(easy, CURLOPT_ERRORBUFFER, error_text_.data());
  set(easy, CURLOPT_HEADERFUNCTION, &Exchange::header_callback);
  set(easy, CURLOPT_HEADERDATA, this);
  set(easy, CURLOPT_WRITEFUNCTION, &Exchange::body_callback);
  set(easy, CURLOPT_WRITEDATA, this);
  set(easy, CURLOPT_PREREQFUNCTION, &Exchange::request_callback);
  set(easy, CURLOPT_PREREQDATA, this);
}

void Exchange::end_as(TransferEnd end, std::string detail) {
  if (forced_) return;
  forced_ = end;
  outcome_.detail = std::move(detail);
}

Outcome Exchange::finish(CURL* easy, CURLcode code, const Request& request) {
  guard_.rethrow_if_any();
  if (forced_) {
    outcome_.end = *forced_;
  } else {
    outcome_.end = end_of(easy, code);
    if (code != CURLE_OK) {
      outcome_.detail = error_text_[0] != 0 ? error_text_.data() : curl_easy_strerror(code);
      if (code == CURLE_OUT_OF_MEMORY) outcome_.detail = "the answer's headers are too large";
    }
  }
  if (!parser_.finished()) {
    outcome_.head = {};
    if (outcome_.end == TransferEnd::complete) {  // libcurl is content with a head that breaks off
      outcome_.end = TransferEnd::cut;
      outcome_.detail = "the connection ended in the headers";
    }
  }
  outcome_.detail = presentable(std::move(outcome_.detail), request.url);
  return std::move(outcome_);
}

std::size_t Exchange::header_callback(char* data, std::size_t size, std::size_t count, void* self) {
  auto* exchange = static_cast<Exchange*>(self);
  return exchange->guard_.run(std::size_t{0}, [&] { return exchange->on_header({data, size * count}); });
}

std::size_t Exchange::body_callback(char* data, std::size_t size, std::size_t count, void* self) {
  auto* exchange = static_cast<Exchange*>(self);
  // Not 0: that is what a full write of an empty piece would return.
  return exchange->guard_.run(std::size_t{CURL_WRITEFUNC_ERROR}, [&] {
    return exchange->on_body({data, size * count});
  });
}

// The connection stands: from here on silence is the server's.
int Exchange::request_callback(void* self, char*, char*, int, int) {
  static_cast<Exchange*>(self)->watch_.start();
  return CURL_PREREQFUNC_OK;
}

std::size_t Exchange::on_header(std::string_view line) {
  const auto now = SteadyClock::now();
  switch (parser_.line(line, outcome_.head)) {
    case HeadParser::State::too_large:
      end_as(TransferEnd::protocol, "the answer's headers are too large");
      return 0;
    case HeadParser::State::done:
      if (!accept_head()) return 0;
      break;
    case HeadParser::State::reading:
      break;
  }
  watch_.got(line.size(), now);
  return line.size();
}

bool Exchange::accept_head() {
  const std::string encoding = to_lower_ascii(outcome_.head.header("content-encoding"));
  const bool encoded = !encoding.empty() && encoding != "identity";
  const bool good = outcome_.head.status < 300;
  if (encoded && good) {
    end_as(TransferEnd::protocol,
           "the server sends content encoding " + encoding + " that was not asked for");
    return false;
  }
  drop_body_ = encoded;  // an error page in a form that we do not read
  if (sink_.on_head && !sink_.on_head(outcome_.head)) {
    end_as(TransferEnd::sink_stopped, {});
    return false;
  }
  return true;
}

std::size_t Exchange::on_body(std::string_view data) {
  const auto now = SteadyClock::now();
  if (!drop_body_) {
    outcome_.received += data.size();
    if (sink_.on_body && !sink_.on_body(as_bytes(data))) {
      end_as(TransferEnd::sink_stopped, {});
      return CURL_WRITEFUNC_ERROR;
    }
  }
  watch_.got(data.size(), now);
  return data.size();
}

// A handshake that the network broke may work next time; one that a peer or a certificate broke will not.
// libcurl has one code for both; its words tell them apart.
bool Exchange::handshake_was_cut() const {
  const std::string_view text{error_text_.data()};
  return text.find("SSL_ERROR_SYSCALL") != std::string_view::npos ||
         text.find("reset by peer") != std::string_view::npos ||
         text.find("unexpected eof") != std::string_view::npos;
}

TransferEnd Exchange::end_of(CURL* easy, CURLcode code) const {
  long connect_status = 0;
  curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &connect_status);
  if (outcome_.head.status == 407 || (code != CURLE_OK && connect_status >= 400 && connect_status < 500)) {
    return TransferEnd::proxy;
  }
  if (code != CURLE_OK && connect_status >= 300) return TransferEnd::no_connect;
  switch (code) {
    case CURLE_OK:
      return TransferEnd::complete;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:  // only the connect phase has a time limit of libcurl's
      return TransferEnd::no_connect;
    case CURLE_PROXY:
      return TransferEnd::proxy;
    case CURLE_SSL_CONNECT_ERROR:
      return handshake_was_cut() ? TransferEnd::no_connect : TransferEnd::tls;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_SSL_ENGINE_INITFAILED:
      return TransferEnd::tls;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_URL_MALFORMAT:
    case CURLE_OUT_OF_MEMORY:  // what libcurl before 8.6 calls a header line beyond its own limit
    case k_curle_too_large:
      return TransferEnd::protocol;
    default:
      return TransferEnd::cut;
  }
}

}  // namespace decant::net
