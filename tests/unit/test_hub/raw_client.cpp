// SPDX-License-Identifier: Apache-2.0
#include "unit/test_hub/raw_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace decant::test {
namespace {

struct SplitUrl {
  std::string origin;
  std::string target;
};

SplitUrl split_url(const std::string& url) {
  const auto slash = url.find('/', std::string{"http://"}.size());
  if (slash == std::string::npos) return {url, "/"};
  return {url.substr(0, slash), url.substr(slash)};
}

void parse_head(const std::string& head, RawAnswer& answer) {
  std::size_t at = head.find("\r\n");
  answer.status = std::atoi(head.c_str() + std::string{"HTTP/1.1 "}.size());
  while (at != std::string::npos && at + 2 < head.size()) {
    const auto end = std::min(head.find("\r\n", at + 2), head.size());
    const std::string line = head.substr(at + 2, end - at - 2);
    const auto colon = line.find(": ");
    answer.headers.emplace_back(line.substr(0, colon), line.substr(colon + 2));
    at = end == head.size() ? std::string::npos : end;
  }
}

}  // namespace

std::string RawAnswer::header(const std::string& name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

RawClient::RawClient(const std::string& origin, int timeout_ms) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(std::stoul(origin.substr(origin.rfind(':') + 1))));
  Fd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const timeval patience{.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    socket_ = std::move(socket);
  }
}

bool RawClient::read_more(RawAnswer& answer) {
  std::array<char, 64 * 1024> buffer{};
  const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
  if (n > 0) {
    pending_.append(buffer.data(), static_cast<std::size_t>(n));
    return true;
  }
  answer.reset = n < 0 && errno == ECONNRESET;
  answer.timed_out = n < 0 && errno == EAGAIN;
  return false;
}

RawAnswer RawClient::send(const std::string& method, const std::string& target, const Headers& headers,
                          const std::string& body) {
  RawAnswer answer;
  if (!socket_) {
    answer.refused = true;
    return answer;
  }
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: hub\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  text += "\r\n" + body;
  if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
    answer.reset = true;
    return answer;
  }
  std::size_t head_end = 0;
  while ((head_end = pending_.find("\r\n\r\n")) == std::string::npos) {
    if (!read_more(answer)) return answer;
  }
  parse_head(pending_.substr(0, head_end), answer);
  pending_.erase(0, head_end + 4);
  const std::string length_text = answer.header("Content-Length");
  if (method == "HEAD") {
    answer.complete = true;
    return answer;
  }
  const bool to_the_end = length_text.empty();
  const std::size_t length = to_the_end ? std::string::npos : std::stoull(length_text);
  while (pending_.size() < length && read_more(answer)) {
  }
  answer.complete = to_the_end ? !answer.reset && !answer.timed_out : pending_.size() >= length;
  answer.body = pending_.substr(0, length);
  pending_.erase(0, answer.body.size());
  return answer;
}

RawAnswer RawClient::get(const std::string& url, const Headers& headers) {
  return request("GET", url, headers);
}

RawAnswer RawClient::request(const std::string& method, const std::string& url, const Headers& headers,
                             const std::string& body) {
  const auto [origin, target] = split_url(url);
  return RawClient{origin}.send(method, target, headers, body);
}

}  // namespace decant::test
