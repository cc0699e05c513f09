// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "decant/base/clock.hpp"
#include "decant/net/transport.hpp"

namespace decant::test {

// Time that only passes by sleeping. Thread-safe.
class FakeClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override {
    std::lock_guard lock{mutex_};
    return now_;
  }
  std::int64_t wall_seconds() const override { return wall_start + elapsed().count() / 1000; }
  void sleep(std::chrono::milliseconds duration, const Stop& stop) override {
    stop.throw_if_requested();
    std::lock_guard lock{mutex_};
    now_ += duration;
    sleeps_.push_back(duration);
  }
  std::vector<std::chrono::milliseconds> sleeps() const {
    std::lock_guard lock{mutex_};
    return sleeps_;
  }
  std::chrono::milliseconds elapsed() const {
    std::lock_guard lock{mutex_};
    return std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch());
  }

  std::atomic<std::int64_t> wall_start{1'775'000'000};

 private:
  mutable std::mutex mutex_;
  std::chrono::steady_clock::time_point now_{};
  std::vector<std::chrono::milliseconds> sleeps_;
};

// One scripted answer.
struct Reply {
  int status = 200;  // 0: none at all
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  net::TransferEnd end = net::TransferEnd::complete;
  std::string detail;
};

struct Sent {
  net::Method method;
  std::string url;
  std::optional<ByteRange> range;
  bool with_token;
  std::string body;
};

// A transport that asks a function. Thread-safe when the function is.
class FakeTransport final : public net::Transport {
 public:
  using Answer = std::function<Reply(const net::Request&)>;
  explicit FakeTransport(Answer answer) : answer_{std::move(answer)} {}

  net::Outcome perform(const net::Request& request, const net::BodySink& sink, const Stop& stop) override {
    stop.throw_if_requested();
    {
      std::lock_guard lock{mutex_};
      sent_.push_back(
          {request.method, request.url.str(), request.range, request.carries_secret(), request.body});
    }
    const Reply reply = answer_(request);
    net::Outcome outcome{.end = reply.end, .detail = reply.detail};
    if (reply.status == 0) return outcome;
    outcome.head = {.status = reply.status, .headers = reply.headers};
    if (!sink.on_head(outcome.head)) {
      outcome.end = net::TransferEnd::sink_stopped;
      return outcome;
    }
    constexpr std::size_t k_piece = 7;
    for (std::size_t at = 0; at < reply.body.size(); at += k_piece) {
      const std::string_view piece = std::string_view{reply.body}.substr(at, k_piece);
      outcome.received += piece.size();
      if (!sink.on_body(as_bytes(piece))) {
        outcome.end = net::TransferEnd::sink_stopped;
        return outcome;
      }
    }
    return outcome;
  }

  std::vector<Sent> sent() const {
    std::lock_guard lock{mutex_};
    return sent_;
  }
  std::size_t count() const { return sent().size(); }

 private:
  Answer answer_;
  mutable std::mutex mutex_;
  std::vector<Sent> sent_;
};

}  // namespace decant::test
