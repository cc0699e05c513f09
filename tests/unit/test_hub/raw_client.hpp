// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decant/base/fd.hpp"

namespace decant::test {

// What came back for one request, as bytes of HTTP say.
struct RawAnswer {
  int status = 0;  // 0: none came
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  bool complete = false;   // the body is as long as announced
  bool reset = false;      // the connection ended by a reset
  bool refused = false;    // connect was refused
  bool timed_out = false;  // nothing came for the time given to the client

  std::string header(const std::string& name) const;  // exact case of the name as the hub sends it
};

// A blocking HTTP/1.1 client that hides nothing: one connection, no redirects, no retries.
class RawClient {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // A fresh connection for each request.
  static RawAnswer get(const std::string& url, const Headers& headers = {});
  static RawAnswer request(const std::string& method, const std::string& url, const Headers& headers = {},
                           const std::string& body = {});

  explicit RawClient(const std::string& origin, int timeout_ms = 20'000);
  bool connected() const { return static_cast<bool>(socket_); }
  RawAnswer send(const std::string& method, const std::string& target, const Headers& headers = {},
                 const std::string& body = {});
  void close() { socket_.reset(); }

 private:
  bool read_more(RawAnswer& answer);

  Fd socket_;
  std::string pending_;
};

}  // namespace decant::test
