// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "support/hub/faults.hpp"
#include "support/hub/http_message.hpp"

namespace decant::test {

struct LoggedRequest {
  Where where = Where::hub;
  std::uint64_t connection = 0;  // counts from 1, one numbering for both listeners
  std::string method;
  std::string target;  // as sent, with the query
  std::string path;    // decoded, without the query
  std::string file;    // path in the repo of the object asked for; empty for API calls
  std::string range;   // value of Range, empty without
  bool has_authorization = false;
  std::string authorization;
  Headers headers;
  std::string body;
  int status = 0;               // 0: closed before an answer
  std::uint64_t body_sent = 0;  // bytes
  bool complete = false;        // the whole answer went out
};

struct HubCounters {
  std::uint64_t requests_hub = 0;
  std::uint64_t requests_cdn = 0;
  std::uint64_t bytes_hub = 0;  // body bytes
  std::uint64_t bytes_cdn = 0;
  std::uint64_t connections_hub = 0;  // accepted so far
  std::uint64_t connections_cdn = 0;
  std::uint64_t open_cdn = 0;  // now, and at most
  std::uint64_t peak_cdn = 0;
  std::map<std::string, std::uint64_t> by_path;  // decoded URL path -> requests
};

// All that the hub was asked. Counted before the bytes leave, so what a client has received is in here
// already.
class RequestLog {
 public:
  struct Token {
    std::size_t index = 0;
    Where where = Where::hub;
    std::uint64_t epoch = 0;  // of clear(): what began before it is not counted after it
  };
  Token begin(LoggedRequest request);
  void set_status(const Token& token, int status);
  void add_sent(const Token& token, std::int64_t bytes);
  void finish(const Token& token, bool complete);
  void connection_opened(Where where);
  void connection_closed(Where where);

  std::vector<LoggedRequest> requests() const;
  HubCounters counters() const;
  void clear();  // forgets requests and counters; open connections stay counted as open
  // Waits until the counters satisfy `wanted`; false when `limit` passed first.
  bool wait_for(const std::function<bool(const HubCounters&)>& wanted, std::chrono::milliseconds limit) const;

 private:
  static constexpr std::size_t k_keep = 200'000;  // a bench must not eat the memory; counters go on
  LoggedRequest* find(const Token& token);        // null when it was forgotten or never kept

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t epoch_ = 0;
  std::vector<LoggedRequest> requests_;
  HubCounters counters_;
};

}  // namespace decant::test
