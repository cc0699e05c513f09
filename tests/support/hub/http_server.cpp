// SPDX-License-Identifier: Apache-2.0
#include "support/hub/http_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <linux/sockios.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace decant::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t k_max_head = 64 * 1024;
constexpr std::size_t k_max_request_body = 8 * 1024 * 1024;

[[noreturn]] void fail(const char* call) {
  throw std::runtime_error{std::string{"test hub: "} + call + ": " + std::strerror(errno)};
}

void raise_event(int fd) {
  const std::uint64_t one = 1;
  while (::write(fd, &one, sizeof one) < 0 && errno == EINTR) {
  }
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::optional<HttpRequest> parse_head(std::string_view head) {
  HttpRequest request;
  bool first_line = true;
  while (!head.empty()) {
    const auto end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    if (first_line) {
      const auto a = line.find(' ');
      const auto b = line.rfind(' ');
      if (a == std::string_view::npos || a == b) return std::nullopt;
      request.method = line.substr(0, a);
      request.target = line.substr(a + 1, b - a - 1);
      request.http_1_0 = line.substr(b + 1) == "HTTP/1.0";
      if (!line.substr(b + 1).starts_with("HTTP/1.")) return std::nullopt;
      first_line = false;
      continue;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    request.headers.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  if (first_line || !request.target.starts_with('/')) return std::nullopt;
  return request;
}

}  // namespace

Connection::Ready Connection::wait(short events, milliseconds time) {
  std::array<pollfd, 2> watched{pollfd{stop_, POLLIN, 0}, pollfd{socket_, events, 0}};
  const auto deadline = steady_clock::now() + time;
  while (true) {
    int left = -1;
    if (time.count() >= 0) {
      const auto rest = std::chrono::ceil<milliseconds>(deadline - steady_clock::now());
      left = static_cast<int>(std::max<milliseconds::rep>(rest.count(), 0));
    }
    const int n = ::poll(watched.data(), watched.size(), left);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || watched[0].revents != 0) return Ready::stopped;
    return n == 0 ? Ready::timeout : Ready::yes;
  }
}

bool Connection::fill() {
  std::array<char, 16 * 1024> buffer{};
  while (true) {
    if (wait(POLLIN, milliseconds{-1}) != Ready::yes) return false;
    const ssize_t n = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n <= 0) return false;
    pending_.append(buffer.data(), static_cast<std::size_t>(n));
    return true;
  }
}

std::optional<HttpRequest> Connection::read_request() {
  std::size_t head_end = 0;
  while ((head_end = pending_.find("\r\n\r\n")) == std::string::npos) {
    if (pending_.size() > k_max_head || !fill()) return std::nullopt;
  }
  auto request = parse_head(std::string_view{pending_}.substr(0, head_end));
  pending_.erase(0, head_end + 4);
  if (!request) return std::nullopt;
  std::size_t length = 0;
  const std::string_view announced = request->header("content-length");
  std::from_chars(announced.data(), announced.data() + announced.size(), length);
  if (length > k_max_request_body || request->has_header("transfer-encoding")) return std::nullopt;
  if (length > pending_.size() && request->has_header("expect")) {
    if (!send(std::string_view{"HTTP/1.1 100 Continue\r\n\r\n"})) return std::nullopt;
  }
  while (pending_.size() < length) {
    if (!fill()) return std::nullopt;
  }
  request->body = pending_.substr(0, length);
  pending_.erase(0, length);
  return request;
}

bool Connection::send(std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return false;
    if (wait(POLLOUT, milliseconds{-1}) != Ready::yes) return false;
  }
  return true;
}

Connection::Slept Connection::sleep(milliseconds time) {
  switch (wait(POLLRDHUP, time)) {
    case Ready::timeout:
      return Slept::over;
    case Ready::stopped:
      return Slept::stopped;
    case Ready::yes:
      break;
  }
  return Slept::peer_left;
}

// A reset throws away what the kernel has not delivered yet, so it has to leave first for "after N bytes" to
// hold.
void Connection::reset() {
  for (int tries = 0; tries < 2000; ++tries) {
    int unsent = 0;
    if (::ioctl(socket_, SIOCOUTQ, &unsent) != 0 || unsent == 0) break;
    if (sleep(milliseconds{1}) != Slept::over) break;
  }
  const linger hard{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
}

HttpServer::HttpServer(Handlers handlers, std::atomic<std::uint64_t>& connection_numbers)
    : handlers_{std::move(handlers)},
      connection_numbers_{connection_numbers},
      stop_{::eventfd(0, EFD_CLOEXEC)},
      wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  if (!stop_ || !wake_) fail("eventfd");
  reserved_ = open_socket(0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  if (::getsockname(reserved_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) fail("getsockname");
  port_ = ntohs(address.sin_port);
}

void HttpServer::start() {
  apply_refusal();
  acceptor_ = std::thread{[this] { accept_loop(); }};
}

HttpServer::~HttpServer() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  applied_.notify_all();
  raise_event(stop_.get());
  if (acceptor_.joinable()) acceptor_.join();
  reap(true);
}

Fd HttpServer::open_socket(std::uint16_t port) const {
  Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (!socket) fail("socket");
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
  return socket;
}

// Brings listener_ to what refusing_ says.
void HttpServer::apply_refusal() {
  const std::lock_guard lock{mutex_};
  if (refuse_until_ && steady_clock::now() >= *refuse_until_) {
    refusing_ = false;
    refuse_until_.reset();
  }
  if (refusing_) {
    listener_.reset();
  } else if (!listener_) {
    listener_ = open_socket(port_);
    if (::listen(listener_.get(), 256) != 0) fail("listen");
  }
  listening_ = static_cast<bool>(listener_);
  applied_.notify_all();
}

int HttpServer::milliseconds_to_listen() {
  const std::lock_guard lock{mutex_};
  if (!refuse_until_) return -1;
  const auto rest = std::chrono::ceil<milliseconds>(*refuse_until_ - steady_clock::now());
  return static_cast<int>(std::max<milliseconds::rep>(rest.count(), 0));
}

void HttpServer::accept_loop() {
  while (true) {
    std::array<pollfd, 3> watched{pollfd{stop_.get(), POLLIN, 0}, pollfd{wake_.get(), POLLIN, 0},
                                  pollfd{listener_ ? listener_.get() : -1, POLLIN, 0}};
    if (::poll(watched.data(), watched.size(), milliseconds_to_listen()) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) return;
    if (watched[1].revents != 0) {
      std::uint64_t count = 0;
      (void)!::read(wake_.get(), &count, sizeof count);
    }
    apply_refusal();
    if (listener_ && watched[2].revents != 0) accept_one();
    reap(false);
  }
}

void HttpServer::accept_one() {
  Fd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
  if (!socket) return;
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const std::lock_guard lock{mutex_};
  if (refusing_ || peers_.size() >= k_max_connections) return;
  Peer& peer = peers_.emplace_back();
  peer.socket = std::move(socket);
  const std::uint64_t number = ++connection_numbers_;
  peer.thread = std::thread{[this, &peer, number] { run(peer, number); }};
}

void HttpServer::run(Peer& peer, std::uint64_t number) {
  handlers_.opened();
  int socket = -1;
  {
    const std::lock_guard lock{mutex_};
    socket = peer.socket.get();
  }
  Connection connection{socket, stop_.get(), number};
  while (const auto request = connection.read_request()) {
    if (handlers_.serve(connection, *request) == Then::close) break;
  }
  handlers_.closed();
  {
    const std::lock_guard lock{mutex_};
    peer.socket.reset();
  }
  peer.done = true;
  wake();
}

void HttpServer::reap(bool all) {
  std::list<Peer> finished;
  {
    const std::lock_guard lock{mutex_};
    for (auto peer = peers_.begin(); peer != peers_.end();) {
      const auto next = std::next(peer);
      if (all || peer->done) finished.splice(finished.end(), peers_, peer);
      peer = next;
    }
  }
  for (Peer& peer : finished) peer.thread.join();
}

void HttpServer::wake() {
  raise_event(wake_.get());
}

void HttpServer::drop_connections() {
  const std::lock_guard lock{mutex_};
  for (Peer& peer : peers_) {
    if (peer.socket) ::shutdown(peer.socket.get(), SHUT_RDWR);
  }
}

void HttpServer::change_refusal(bool refusing, milliseconds time) {
  std::unique_lock lock{mutex_};
  refusing_ = refusing;
  refuse_until_.reset();
  if (time.count() > 0) refuse_until_ = steady_clock::now() + time;
  wake();
  applied_.wait(lock, [&] { return stopping_ || listening_ != refusing_; });
}

void HttpServer::refuse(milliseconds time) {
  change_refusal(true, time);
  drop_connections();
}

void HttpServer::listen_again() {
  change_refusal(false, milliseconds{0});
}

}  // namespace decant::test
