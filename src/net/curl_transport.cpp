// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <new>

#include "decant/base/c_handle.hpp"
#include "decant/base/text.hpp"
#include "decant/net/transport.hpp"

namespace decant::net {
namespace {

using SteadyClock = std::chrono::steady_clock;
using EasyHandle = CHandle<curl_easy_cleanup>;
using MultiHandle = CHandle<curl_multi_cleanup>;

constexpr std::size_t k_head_limit = 128 * k_kib;
constexpr double k_slowest_bytes_per_second = 1024;
constexpr std::chrono::milliseconds k_poll{50};  // how soon a stop request or a stall is noticed
constexpr std::size_t k_longest_detail = 300;

// A request's header lines as libcurl wants them; the one with the token is wiped here (libcurl keeps a copy
// of its own for as long as the transfer runs).
class HeaderList {
 public:
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() {
    for (curl_slist* item = list_; item != nullptr; item = item->next) {
      explicit_bzero(item->data, std::strlen(item->data));
    }
    curl_slist_free_all(list_);
  }
  void add(const std::string& line) {
    curl_slist* longer = curl_slist_append(list_, line.c_str());
    if (longer == nullptr) throw std::bad_alloc{};
    list_ = longer;
  }
  void add_bearer(const Secret& token) {
    std::string line = "Authorization: Bearer " + token.reveal();
    add(line);
    explicit_bzero(line.data(), line.size());
  }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

template <class Value>
void set(CURL* easy, CURLoption option, Value value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code == CURLE_OUT_OF_MEMORY) throw std::bad_alloc{};
  if (code != CURLE_OK) {
    throw Error{ErrorKind::bug, fmt::format("libcurl refuses option {}: {}", static_cast<int>(option),
                                            curl_easy_strerror(code))};
  }
}

// Too slow for too long? Time that the sink takes is not held against the server.
class StallWatch {
 public:
  explicit StallWatch(std::chrono::milliseconds timeout) : timeout_{timeout} {}

  void start() {
    started_ = true;
    window_start_ = last_byte_ = SteadyClock::now();
    window_bytes_ = 0;
  }
  void got(std::size_t bytes, SteadyClock::time_point before_sink) {
    last_byte_ = SteadyClock::now();
    window_start_ += last_byte_ - before_sink;
    window_bytes_ += bytes;
  }
  bool stalled() {
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

 private:
  std::chrono::milliseconds timeout_;
  bool started_ = false;
  SteadyClock::time_point window_start_;
  SteadyClock::time_point last_byte_;
  std::uint64_t window_bytes_ = 0;
};

// Reads header lines into a head. Only the final response of a hop counts: 1xx ones are dropped.
class HeadParser {
 public:
  enum class State { reading, done, too_large };

  bool finished() const { return finished_; }

  State line(std::string_view text, ResponseHead& head) {
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

 private:
  bool finished_ = false;
  std::size_t size_ = 0;
};

// One transfer as the callbacks see it.
class Exchange {
 public:
  Exchange(const BodySink& sink, std::chrono::milliseconds stall_timeout)
      : sink_{sink}, watch_{stall_timeout} {}

  void attach(CURL* easy) {
    set(easy, CURLOPT_ERRORBUFFER, error_text_.data());
    set(easy, CURLOPT_HEADERFUNCTION, &Exchange::header_callback);
    set(easy, CURLOPT_HEADERDATA, this);
    set(easy, CURLOPT_WRITEFUNCTION, &Exchange::body_callback);
    set(easy, CURLOPT_WRITEDATA, this);
    set(easy, CURLOPT_PREREQFUNCTION, &Exchange::request_callback);
    set(easy, CURLOPT_PREREQDATA, this);
  }

  bool stalled() { return watch_.stalled(); }
  void end_as(TransferEnd end, std::string detail) {
    if (forced_) return;
    forced_ = end;
    outcome_.detail = std::move(detail);
  }
  // After the transfer: rethrows what the sink threw.
  Outcome finish(CURL* easy, CURLcode code, const Request& request) {
    guard_.rethrow_if_any();
    if (forced_) {
      outcome_.end = *forced_;
    } else {
      outcome_.end = end_of(easy, code);
      if (code != CURLE_OK) {
        outcome_.detail = error_text_[0] != 0 ? error_text_.data() : curl_easy_strerror(code);
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

 private:
  static std::size_t header_callback(char* data, std::size_t size, std::size_t count, void* self) {
    auto* exchange = static_cast<Exchange*>(self);
    return exchange->guard_.run(std::size_t{0}, [&] { return exchange->on_header({data, size * count}); });
  }
  static std::size_t body_callback(char* data, std::size_t size, std::size_t count, void* self) {
    auto* exchange = static_cast<Exchange*>(self);
    // Not 0: that is what a full write of an empty piece would return.
    return exchange->guard_.run(std::size_t{CURL_WRITEFUNC_ERROR}, [&] {
      return exchange->on_body({data, size * count});
    });
  }
  // The connection stands: from here on silence is the server's.
  static int request_callback(void* self, char*, char*, int, int) {
    static_cast<Exchange*>(self)->watch_.start();
    return CURL_PREREQFUNC_OK;
  }

  std::size_t on_header(std::string_view line) {
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

  bool accept_head() {
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

  std::size_t on_body(std::string_view data) {
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
  bool handshake_was_cut() const {
    const std::string_view text{error_text_.data()};
    return text.find("SSL_ERROR_SYSCALL") != std::string_view::npos ||
           text.find("reset by peer") != std::string_view::npos ||
           text.find("unexpected eof") != std::string_view::npos;
  }

  TransferEnd end_of(CURL* easy, CURLcode code) const {
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
        return TransferEnd::no_connect;
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
        return TransferEnd::protocol;
      case CURLE_OUT_OF_MEMORY:  // what libcurl calls a header line beyond its own limit
        return TransferEnd::protocol;
      default:
        return TransferEnd::cut;
    }
  }

  static std::string presentable(std::string detail, const Url& url) {
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

  const BodySink& sink_;
  StallWatch watch_;
  HeadParser parser_;
  Outcome outcome_;
  CallbackGuard guard_;
  std::optional<TransferEnd> forced_;
  bool drop_body_ = false;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
};

// One easy handle and the multi handle that drives it and keeps its connections. Driving it ourselves, rather
// than by curl_easy_perform, is what lets a stop request and a short stall be noticed within k_poll: an easy
// transfer sleeps for up to a second at a time.
struct Lane {
  MultiHandle multi{curl_multi_init(), "curl_multi_init"};
  EasyHandle easy{curl_easy_init(), "curl_easy_init"};
  std::vector<Origin> served;  // origins it may still be connected to, latest last
  bool carried_secret = false;

  bool knows(const Origin& origin) const {
    return std::find(served.begin(), served.end(), origin) != served.end();
  }
  void note(const Origin& origin) {
    std::erase(served, origin);
    served.push_back(origin);
    if (served.size() > k_connections_kept) served.erase(served.begin());
  }

  static constexpr std::size_t k_connections_kept = 2;
};

// A handle attached for one transfer; detached and cleaned whatever happens.
class Attached {
 public:
  Attached(CURLM* multi, CURL* easy) : multi_{multi}, easy_{easy} {
    if (const CURLMcode code = curl_multi_add_handle(multi_, easy_); code != CURLM_OK) {
      throw Error{ErrorKind::bug, fmt::format("curl_multi_add_handle: {}", curl_multi_strerror(code))};
    }
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached() {
    curl_multi_remove_handle(multi_, easy_);
    curl_easy_reset(easy_);
  }

 private:
  CURLM* multi_;
  CURL* easy_;
};

class CurlTransport final : public Transport {
 public:
  explicit CurlTransport(TransportOptions options) : options_{std::move(options)} {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (started != CURLE_OK) throw Error{ErrorKind::bug, "libcurl does not start"};
  }

  Outcome perform(const Request& request, const BodySink& sink, const Stop& stop) override {
    stop.throw_if_requested();
    const bool secret = !request.bearer.empty() && request.url.origin == request.secret_origin;
    std::unique_ptr<Lane> lane = take_lane(request.url.origin, secret);
    Outcome outcome = run(*lane, request, secret, sink, stop);
    lane->note(request.url.origin);
    give_back(std::move(lane));  // a lane that saw an exception is dropped instead
    return outcome;
  }

 private:
  // Prefers a lane that is connected to the origin. Lanes that carried a token never serve another origin:
  // whatever state libcurl may keep across a reset cannot travel then.
  std::unique_ptr<Lane> take_lane(const Origin& origin, bool secret) {
    std::lock_guard lock{mutex_};
    auto usable = idle_.end();
    for (auto it = idle_.begin(); it != idle_.end(); ++it) {
      if ((*it)->carried_secret != secret || (secret && !(*it)->knows(origin))) continue;
      usable = it;
      if ((*it)->knows(origin)) break;
    }
    if (usable == idle_.end()) {
      auto lane = std::make_unique<Lane>();
      lane->carried_secret = secret;
      return lane;
    }
    std::unique_ptr<Lane> lane = std::move(*usable);
    idle_.erase(usable);
    return lane;
  }

  void give_back(std::unique_ptr<Lane> lane) {
    std::lock_guard lock{mutex_};
    idle_.push_back(std::move(lane));
  }

  void configure(CURL* easy, const Request& request, const std::string& url) const {
    set(easy, CURLOPT_URL, url.c_str());
    set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    set(easy, CURLOPT_FOLLOWLOCATION, 0L);
    set(easy, CURLOPT_HTTP_VERSION, long{CURL_HTTP_VERSION_1_1});
    set(easy, CURLOPT_PATH_AS_IS, 1L);
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_NOPROGRESS, 1L);
    set(easy, CURLOPT_NETRC, long{CURL_NETRC_IGNORED});
    set(easy, CURLOPT_SSLVERSION, long{CURL_SSLVERSION_TLSv1_2});
    set(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    set(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    set(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(options_.connect_timeout.count()));
    set(easy, CURLOPT_BUFFERSIZE, static_cast<long>(512 * k_kib));
    set(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(easy, CURLOPT_USERAGENT, options_.user_agent.empty() ? "decant" : options_.user_agent.c_str());
    if (!options_.ca_file.empty()) {
      set(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
      set(easy, CURLOPT_CAPATH,
          static_cast<const char*>(nullptr));  // this file instead of the system's, not beside
    }
    // A token may go to loopback over plain http; a proxy between would see it.
    if (request.url.origin.is_loopback()) set(easy, CURLOPT_NOPROXY, "*");
    if (request.method == Method::head) set(easy, CURLOPT_NOBODY, 1L);
    if (request.method == Method::post) {
      set(easy, CURLOPT_POST, 1L);
      set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(easy, CURLOPT_POSTFIELDS, request.body.c_str());
    }
  }

  static void fill_headers(HeaderList& headers, const Request& request, bool secret) {
    headers.add("Accept-Encoding: identity");
    headers.add("Expect:");
    for (const auto& [name, value] : request.headers) {
      if (has_control_characters(name) || has_control_characters(value)) {
        throw Error{ErrorKind::bug, "a request header holds a control character"};
      }
      headers.add(name + ": " + value);
    }
    if (!request.content_type.empty()) headers.add("Content-Type: " + request.content_type);
    if (request.range) {
      headers.add(fmt::format("Range: bytes={}-{}", request.range->offset, request.range->end() - 1));
    }
    if (!secret) return;
    if (has_control_characters(request.bearer.reveal())) {
      throw Error{ErrorKind::usage, "the token holds a control character"};
    }
    headers.add_bearer(request.bearer);
  }

  Outcome run(Lane& lane, const Request& request, bool secret, const BodySink& sink, const Stop& stop) const {
    CURL* easy = lane.easy.get();
    CURLM* multi = lane.multi.get();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(Lane::k_connections_kept));
    const std::string url = request.url.str();
    HeaderList headers;
    fill_headers(headers, request, secret);
    Exchange exchange{sink, options_.stall_timeout};
    configure(easy, request, url);
    set(easy, CURLOPT_HTTPHEADER, headers.get());
    exchange.attach(easy);

    const Attached attached{multi, easy};
    const CURLcode code = drive(multi, exchange, stop);
    return exchange.finish(easy, code, request);
  }

  // Runs the one transfer of `multi` to its end, or until it stalls.
  CURLcode drive(CURLM* multi, Exchange& exchange, const Stop& stop) const {
    const auto poll =
        static_cast<int>(std::clamp<std::int64_t>(options_.stall_timeout.count() / 4, 1, k_poll.count()));
    for (;;) {
      int running = 0;
      check(curl_multi_perform(multi, &running));
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
        if (message->msg == CURLMSG_DONE) return message->data.result;
      }
      stop.throw_if_requested();
      if (exchange.stalled()) {
        exchange.end_as(TransferEnd::stalled,
                        fmt::format("less than 1 KiB/s for {:.1f} s",
                                    static_cast<double>(options_.stall_timeout.count()) / 1000.0));
        return CURLE_OPERATION_TIMEDOUT;
      }
      check(curl_multi_poll(multi, nullptr, 0, poll, nullptr));
    }
  }

  static void check(CURLMcode code) {
    if (code == CURLM_OUT_OF_MEMORY) throw std::bad_alloc{};
    if (code != CURLM_OK) {
      throw Error{ErrorKind::bug, fmt::format("libcurl multi: {}", curl_multi_strerror(code))};
    }
  }

  TransportOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> idle_;
};

}  // namespace

std::unique_ptr<Transport> make_curl_transport(TransportOptions options) {
  return std::make_unique<CurlTransport>(std::move(options));
}

}  // namespace decant::net
