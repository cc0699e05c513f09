// SPDX-License-Identifier: Apache-2.0
#include "raw_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <stdexcept>

#include "decant/base/bytes.hpp"

namespace decant::test {
namespace {

bool readable(int socket, int milliseconds) {
  pollfd waited{.fd = socket, .events = POLLIN, .revents = 0};
  return ::poll(&waited, 1, milliseconds) == 1;
}

// Whether `text` holds a whole request: the head, and the body that it announces.
bool is_whole(const std::string& text) {
  if (text[0] == '\x16') return true;  // a TLS handshake
  const auto end = text.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const auto length = text.find("Content-Length: ");
  if (length == std::string::npos || length > end) return true;
  const auto from = length + 16;
  return text.size() >= end + 4 + parse_u64(text.substr(from, text.find('\r', from) - from)).value_or(0);
}

}  // namespace

void RawServer::Peer::send(std::string_view bytes) {
  while (!bytes.empty() && open_) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return close();
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void RawServer::Peer::pause(int milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{milliseconds};
  while (std::chrono::steady_clock::now() < end && !stopping_) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

void RawServer::Peer::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  open_ = false;
}

RawServer::RawServer(Script script) : script_{std::move(script)} {
  listener_ = Fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), generic, size) != 0 || ::listen(listener_.get(), 64) != 0 ||
      ::getsockname(listener_.get(), generic, &size) != 0) {
    throw std::runtime_error{"cannot listen on loopback"};
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread{[this] { accept_loop(); }};
}

RawServer::~RawServer() {
  stopping_ = true;
  acceptor_.join();
  for (auto& thread : threads_) thread.join();
}

std::vector<std::string> RawServer::requests() const {
  std::lock_guard lock{mutex_};
  return requests_;
}

void RawServer::accept_loop() {
  while (!stopping_) {
    if (!readable(listener_.get(), 20)) continue;
    const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    ++connections_;
    threads_.emplace_back([this, socket] { serve(socket); });
  }
}

void RawServer::serve(int socket) {
  const Fd owner{socket};
  Peer peer{socket, stopping_};
  std::string request;
  while (peer.open() && !stopping_) {
    if (!readable(socket, 20)) continue;
    char piece[4096];
    const ssize_t got = ::recv(socket, piece, sizeof piece, 0);
    if (got <= 0) return;
    request.append(piece, static_cast<std::size_t>(got));
    if (!is_whole(request)) continue;
    {
      std::lock_guard lock{mutex_};
      requests_.push_back(request);
    }
    script_(request, peer);
    request.clear();
  }
}

}  // namespace decant::test
