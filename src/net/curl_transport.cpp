// SPDX-License-Identifier: Apache-2.0
#include <curl/curl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "built.hpp"
#include "curl_exchange.hpp"
#include "decant/base/c_handle.hpp"
#include "decant/base/text.hpp"
#include "decant/net/transport.hpp"

namespace decant::net {
namespace {

using EasyHandle = CHandle<curl_easy_cleanup>;
using MultiHandle = CHandle<curl_multi_cleanup>;

constexpr std::chrono::milliseconds k_poll{50};  // how soon a stop request or a stall is noticed

// A request's header lines as libcurl wants them; those with a secret are wiped here (libcurl keeps a copy of
// its own for as long as the transfer runs).
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
  void add_secret(const std::string& before, const Secret& secret) {
    if (secret.empty()) return;
    if (has_control_characters(before) || has_control_characters(secret.reveal())) {
      throw Error{ErrorKind::usage, "the token holds a control character"};
    }
    std::string line = before + secret.reveal();
    add(line);
    explicit_bzero(line.data(), line.size());
  }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

// A multi handle, which keeps the connections and drives one easy handle at a time. Driving it ourselves,
// rather than by curl_easy_perform, is what lets a stop request and a short stall be noticed within k_poll:
// an easy transfer sleeps for up to a second at a time.
struct Lane {
  MultiHandle multi{curl_multi_init(), "curl_multi_init"};
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

// A handle attached for one transfer; detached whatever happens.
class Attached {
 public:
  Attached(CURLM* multi, CURL* easy) : multi_{multi}, easy_{easy} {
    if (const CURLMcode code = curl_multi_add_handle(multi_, easy_); code != CURLM_OK) {
      throw Error{ErrorKind::bug, fmt::format("curl_multi_add_handle: {}", curl_multi_strerror(code))};
    }
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached() { curl_multi_remove_handle(multi_, easy_); }

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
    const bool secret = request.carries_secret();
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
      headers.add(fmt::format("{}: {}", name, value));
    }
    if (!request.content_type.empty()) headers.add("Content-Type: " + request.content_type);
    if (request.range) {
      headers.add(fmt::format("Range: bytes={}-{}", request.range->offset, request.range->end() - 1));
    }
    if (!secret) return;
    headers.add_secret("Authorization: Bearer ", request.bearer);
    headers.add_secret("Cookie: " + request.cookie.name + "=", request.cookie.value);
  }

  Outcome run(Lane& lane, const Request& request, bool secret, const BodySink& sink, const Stop& stop) const {
    // A new one each time: after a name that does not resolve libcurl refuses some options on a used handle.
    const EasyHandle handle{curl_easy_init(), "curl_easy_init"};
    CURL* easy = handle.get();
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
    Outcome outcome = exchange.finish(easy, code, request);
    if (outcome.end == TransferEnd::tls) outcome.detail += doubt_about_clock();
    return outcome;
  }

  std::string doubt_about_clock() const {
    if (options_.clock == nullptr) return {};
    const std::int64_t now = options_.clock->wall_seconds();
    if (now >= built_at()) return {};
    return fmt::format(" (this machine's clock says {}, which is before this program was built)",
                       format_utc(now));
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
