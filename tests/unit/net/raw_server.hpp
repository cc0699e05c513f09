// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "decant/base/fd.hpp"

namespace decant::test {

// Accepts on 127.0.0.1 and sends exactly the bytes that a script says: for answers that no HTTP server makes.
// One thread a connection; a connection stays open for further requests until the script closes it.
class RawServer {
 public:
  // What the script does with one request.
  class Peer {
   public:
    explicit Peer(int socket, std::atomic<bool>& stopping) : socket_{socket}, stopping_{stopping} {}
    void send(std::string_view bytes);
    void pause(int milliseconds);  // ends early when the server stops
    void close() { open_ = false; }
    void reset();  // close with RST
    bool open() const { return open_; }

   private:
    int socket_;
    std::atomic<bool>& stopping_;
    bool open_ = true;
  };
  using Script = std::function<void(const std::string& request, Peer& peer)>;

  explicit RawServer(Script script);
  ~RawServer();
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;

  std::string origin() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<std::string> requests() const;
  int connections() const { return connections_; }

 private:
  void accept_loop();
  void serve(int socket);

  Script script_;
  Fd listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> connections_{0};
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace decant::test
