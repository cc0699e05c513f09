// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decant/base/bytes.hpp"
#include "decant/base/clock.hpp"
#include "decant/base/stop.hpp"

namespace decant::net {

// scheme://host:port, lower-case host, port always present. Equality is what "same origin" means (RFC 6454).
struct Origin {
  std::string scheme;
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const Origin&) const = default;
  std::string str() const;
  bool is_loopback() const;  // 127.0.0.0/8, ::1, localhost
};

// Parts of an absolute http(s) URL; nullopt for anything else, also with userinfo, control bytes or spaces.
struct Url {
  Origin origin;
  std::string path_and_query;  // begins with '/'; percent-encoding untouched
  bool operator==(const Url&) const = default;
  std::string str() const;
  // For messages: without the query, which may hold a signature.
  std::string redacted() const;
};
std::optional<Url> parse_url(std::string_view text);
// Resolves a Location value against `base` (absolute, scheme-relative, absolute path or relative path).
std::optional<Url> resolve_reference(const Url& base, std::string_view location);
// Percent-encodes everything but unreserved characters (RFC 3986); `keep_slash` leaves '/' alone.
enum class Slash { keep, encode };
std::string percent_encode(std::string_view text, Slash slash);

// A secret that prints as "***" and is wiped when destroyed.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_{std::move(value)} {}
  Secret(const Secret&) = default;
  Secret& operator=(const Secret& other);
  ~Secret();
  bool empty() const { return value_.empty(); }
  const std::string& reveal() const { return value_; }

 private:
  void wipe() noexcept;
  std::string value_;
};
std::ostream& operator<<(std::ostream& out, const Secret&);

// A cookie whose value is a secret.
struct SecretCookie {
  std::string name;
  Secret value;
};

enum class Method { get, head, post };

struct Request {
  Method method = Method::get;
  Url url;
  std::vector<std::pair<std::string, std::string>> headers;  // beside Accept-Encoding: identity, always sent
  std::optional<ByteRange> range;                            // length > 0; sent as a bounded Range
  std::string body;                                          // POST
  std::string content_type;
  // Sent only when url.origin == secret_origin: as "Authorization: Bearer …", and as "Cookie: NAME=…".
  Secret bearer;
  SecretCookie cookie;
  Origin secret_origin;
  // Whether this hop shows a secret to its server.
  bool carries_secret() const;
};

struct ResponseHead {
  int status = 0;
  std::vector<std::pair<std::string, std::string>> headers;  // names lower-case
  // First value; empty when absent.
  std::string_view header(std::string_view lower_case_name) const;
};

enum class TransferEnd {
  complete,      // the body ended as the protocol says
  cut,           // connection lost or body shorter than announced
  stalled,       // no byte for too long
  no_connect,    // DNS, connect
  tls,           // certificate or handshake: not worth retrying
  proxy,         // the proxy refused (407 among them)
  sink_stopped,  // the sink asked to stop; not an error
  protocol,      // not HTTP, too large headers, content encoding we did not ask for
};
std::string_view to_string(TransferEnd end) noexcept;

struct Outcome {
  TransferEnd end = TransferEnd::complete;
  ResponseHead head;           // status 0 when there was none
  std::uint64_t received = 0;  // body bytes handed to the sink
  std::string detail;          // the library's words, without URL query; for messages
};

// Gets the head once before the first body byte, then body pieces in order. Returning false ends the transfer
// (TransferEnd::sink_stopped).
struct BodySink {
  std::function<bool(const ResponseHead&)> on_head;
  std::function<bool(Bytes)> on_body;
};

struct TransportOptions {
  std::chrono::milliseconds connect_timeout{15'000};
  std::chrono::milliseconds stall_timeout{30'000};  // less than 1 KiB/s for this long
  std::string ca_file;                              // empty: the system's
  std::string user_agent;
  const Clock* clock =
      nullptr;  // told of when a certificate fails and it is behind this program; may be null
};

// One HTTP hop: no redirect is followed, nothing is retried, no exception for any answer. perform() may be
// called from many threads at once. Throws Interrupted only (and whatever the sink throws).
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Outcome perform(const Request& request, const BodySink& sink, const Stop& stop) = 0;
};

// HTTP/1.1 on libcurl, one easy handle a thread in use, connections kept alive. http and https only, TLS
// >= 1.2, peer and host verified, proxy variables honoured, no netrc, no cookies.
std::unique_ptr<Transport> make_curl_transport(TransportOptions options);

// perform() with the whole body in memory, at most `limit` bytes (beyond: TransferEnd::protocol, detail says
// so). Of any answer but 2xx the beginning is kept, whatever the limit.
struct FetchedBody {
  Outcome outcome;
  std::string body;
  bool too_large = false;
};
FetchedBody fetch_body(Transport& transport, const Request& request, std::uint64_t limit, const Stop& stop);

}  // namespace decant::net
