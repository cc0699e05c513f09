// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>
#include <fmt/format.h>

#include <array>
#include <new>
#include <optional>

#include "decant/base/c_handle.hpp"
#include "decant/net/transport.hpp"

// One HTTP exchange as libcurl's callbacks see it.
namespace decant::net {

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
  using SteadyClock = std::chrono::steady_clock;
  explicit StallWatch(std::chrono::milliseconds timeout) : timeout_{timeout} {}

  void start();
  void got(std::size_t bytes, SteadyClock::time_point before_sink);
  bool stalled();

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
  State line(std::string_view text, ResponseHead& head);

 private:
  bool finished_ = false;
  std::size_t size_ = 0;
};

// One transfer: feeds the sink, and says in the end how it went.
class Exchange {
 public:
  Exchange(const BodySink& sink, std::chrono::milliseconds stall_timeout)
      : sink_{sink}, watch_{stall_timeout} {}

  void attach(CURL* easy);
  bool stalled() { return watch_.stalled(); }
  void end_as(TransferEnd end, std::string detail);
  // After the transfer: rethrows what the sink threw.
  Outcome finish(CURL* easy, CURLcode code, const Request& request);

 private:
  static std::size_t header_callback(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t body_callback(char* data, std::size_t size, std::size_t count, void* self);
  static int request_callback(void* self, char*, char*, int, int);
  std::size_t on_header(std::string_view line);
  bool accept_head();
  std::size_t on_body(std::string_view data);
  bool handshake_was_cut() const;
  TransferEnd end_of(CURL* easy, CURLcode code) const;

  const BodySink& sink_;
  StallWatch watch_;
  HeadParser parser_;
  Outcome outcome_;
  CallbackGuard guard_;
  std::optional<TransferEnd> forced_;
  bool drop_body_ = false;
  std::array<char, CURL_ERROR_SIZE> error_text_{};
};

}  // namespace decant::net
