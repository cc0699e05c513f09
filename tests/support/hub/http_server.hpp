// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "decant/base/fd.hpp"
#include "support/hub/http_message.hpp"

namespace decant::test {

// One accepted connection. Every wait ends at once when the server stops.
class Connection {
 public:
  enum class Slept : std::uint8_t { over, stopped, peer_left };

  Connection(int socket, int stop, std::uint64_t number) : socket_{socket}, stop_{stop}, number_{number} {}

  // nullopt: the peer left, sent no HTTP, or the server stops.
  std::optional<HttpRequest> read_request();
  bool send(std::span<const char> bytes);  // false: the peer left or the server stops
  // Waits; a negative time waits for the other two reasons alone.
  Slept sleep(std::chrono::milliseconds time);
  // The peer gets what was sent so far, then a reset.
  void reset();
  std::uint64_t number() const { return number_; }

 private:
  enum class Ready : std::uint8_t { yes, timeout, stopped };
  Ready wait(short events, std::chrono::milliseconds time);
  bool fill();  // reads more into pending_

  int socket_;
  int stop_;
  std::uint64_t number_;
  std::string pending_;
};

// Accepts on 127.0.0.1, one thread a connection. `serve` answers one request and tells whether to keep the
// connection.
class HttpServer {
 public:
  enum class Then : std::uint8_t { keep, close };
  struct Handlers {
    std::function<void()> opened;
    std::function<void()> closed;
    std::function<Then(Connection&, const HttpRequest&)> serve;
  };

  HttpServer(Handlers handlers, std::atomic<std::uint64_t>& connection_numbers);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Accepts from here on; what the handlers read must be set by now.
  void start();
  std::uint16_t port() const { return port_; }
  std::string origin() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Drops all connections; new ones are refused by the kernel until the time is over (0: until
  // listen_again()). Both return when it is so.
  void refuse(std::chrono::milliseconds time);
  void listen_again();
  void drop_connections();

 private:
  struct Peer {
    Fd socket;  // closed under mutex_, so that drop_connections() never meets a reused number
    std::thread thread;
    std::atomic<bool> done{false};
  };
  static constexpr std::size_t k_max_connections = 512;

  void accept_loop();
  void accept_one();
  void run(Peer& peer, std::uint64_t number);
  void reap(bool all);
  Fd open_socket(std::uint16_t port) const;
  void apply_refusal();
  void change_refusal(bool refusing, std::chrono::milliseconds time);
  void wake();
  int milliseconds_to_listen();

  Handlers handlers_;
  std::atomic<std::uint64_t>& connection_numbers_;
  std::uint16_t port_ = 0;
  Fd reserved_;  // bound, never listening: keeps the port ours while listener_ is closed
  Fd listener_;  // touched by the accepting thread alone
  Fd stop_;      // eventfd, readable for ever once stopping
  Fd wake_;      // eventfd
  std::mutex mutex_;
  std::condition_variable applied_;
  bool stopping_ = false;
  bool refusing_ = false;
  bool listening_ = false;  // listener_ is open
  std::optional<std::chrono::steady_clock::time_point> refuse_until_;
  std::list<Peer> peers_;
  std::thread acceptor_;
};

}  // namespace decant::test
