// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>

#include "support/hub/faults.hpp"
#include "support/hub/http_server.hpp"
#include "support/hub/request_log.hpp"

namespace decant::test {

// Spreads bytes evenly over time, for any number of threads.
class Pacer {
 public:
  void set_rate(std::uint64_t bytes_per_second);
  std::uint64_t rate() const;
  // Books `bytes` and tells how long to wait before sending them.
  std::chrono::nanoseconds book(std::uint64_t bytes);

 private:
  mutable std::mutex mutex_;
  std::uint64_t rate_ = 0;
  std::chrono::steady_clock::time_point free_at_;
};

// Sends one answer, whole or as the fault says. `fault` may be null.
struct ResponseSender {
  Connection& connection;
  RequestLog& log;
  RequestLog::Token token;
  const Fault* fault;
  Pacer& total;  // of the hub
  std::uint64_t rate_per_connection;

  HttpServer::Then send(const HttpRequest& request, HttpResponse response);

 private:
  enum class Body : std::uint8_t { whole, ended };
  Body send_body(const HttpResponse& response, std::uint64_t length);
  bool send_piece(std::span<char> piece, Pacer& own);
  HttpServer::Then cut();
};

}  // namespace decant::test
