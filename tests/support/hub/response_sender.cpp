// SPDX-License-Identifier: Apache-2.0
#include "support/hub/response_sender.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

namespace decant::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using Then = HttpServer::Then;

constexpr std::size_t k_piece = 256 * 1024;
constexpr std::uint64_t k_never = std::numeric_limits<std::uint64_t>::max();

enum class Framing : std::uint8_t { length, chunks, end_of_connection };

std::string head_of(const HttpResponse& response, std::uint64_t length, Framing framing, bool keep) {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " " +
                     std::string{status_text(response.status)} + "\r\n";
  for (const auto& [name, value] : response.headers) head += name + ": " + value + "\r\n";
  if (response.header("date").empty()) head += "Date: " + http_date(std::time(nullptr)) + "\r\n";
  if (framing == Framing::length && response.header("content-length").empty()) {
    head += "Content-Length: " + std::to_string(length) + "\r\n";
  }
  if (framing == Framing::chunks) head += "Transfer-Encoding: chunked\r\n";
  if (!keep) head += "Connection: close\r\n";
  return head + "\r\n";
}

// Zeros where the body is longer than what there is (Fault::resize).
bool read_body(const HttpResponse& response, std::uint64_t at, std::span<char> out) {
  const std::uint64_t size = response.body_size();
  const std::size_t real = at < size ? std::min<std::uint64_t>(size - at, out.size()) : 0;
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(real), out.end(), '\0');
  if (real == 0) return true;
  if (const auto* slice = std::get_if<ContentSlice>(&response.body)) {
    return slice->content.read(slice->offset + at, out.first(real));
  }
  std::memcpy(out.data(), std::get<std::string>(response.body).data() + at, real);
  return true;
}

}  // namespace

void Pacer::set_rate(std::uint64_t bytes_per_second) {
  const std::lock_guard lock{mutex_};
  rate_ = bytes_per_second;
}

std::uint64_t Pacer::rate() const {
  const std::lock_guard lock{mutex_};
  return rate_;
}

nanoseconds Pacer::book(std::uint64_t bytes) {
  const std::lock_guard lock{mutex_};
  if (rate_ == 0) return nanoseconds{0};
  const auto now = steady_clock::now();
  const auto start = std::max(now, free_at_);
  free_at_ =
      start +
      nanoseconds{static_cast<std::int64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(rate_))};
  return start - now;
}

bool ResponseSender::send_piece(std::span<char> piece, Pacer& own) {
  const auto pause = std::max(own.book(piece.size()), total.book(piece.size()));
  if (pause > milliseconds{1} &&
      connection.sleep(std::chrono::duration_cast<milliseconds>(pause)) != Connection::Slept::over) {
    return false;
  }
  log.add_sent(token, static_cast<std::int64_t>(piece.size()));
  if (!fault || !fault->chunked) return connection.send(piece);
  std::array<char, 32> size{};
  const int length = std::snprintf(size.data(), size.size(), "%zx\r\n", piece.size());
  return connection.send({size.data(), static_cast<std::size_t>(length)}) && connection.send(piece) &&
         connection.send(std::string_view{"\r\n"});
}

ResponseSender::Body ResponseSender::send_body(const HttpResponse& response, std::uint64_t length) {
  const auto* slice = std::get_if<ContentSlice>(&response.body);
  const std::uint64_t object_offset = slice ? slice->offset : 0;
  const std::uint64_t origin = fault && fault->at_object ? object_offset : 0;
  const std::uint64_t cut_at = fault && fault->cut_after ? *fault->cut_after - origin : k_never;
  std::uint64_t stall_at = fault && fault->stall_after ? *fault->stall_after - origin : k_never;
  Pacer own;
  own.set_rate(fault && fault->rate != 0 ? fault->rate : rate_per_connection);

  std::size_t piece_size = k_piece;
  for (const std::uint64_t rate : {own.rate(), total.rate()}) {  // about 20 pieces a second
    if (rate != 0) piece_size = std::min(piece_size, std::max<std::size_t>(rate / 20, 1));
  }
  std::vector<char> buffer(std::min<std::uint64_t>(piece_size, length));
  std::uint64_t at = 0;
  while (true) {
    if (at == cut_at) return Body::ended;
    if (at == stall_at) {
      stall_at = k_never;
      const auto time = fault->stall_for.count() > 0 ? fault->stall_for : milliseconds{-1};
      if (connection.sleep(time) != Connection::Slept::over) return Body::ended;
    }
    if (at == length) return Body::whole;
    std::uint64_t n = std::min<std::uint64_t>(buffer.size(), length - at);
    for (const std::uint64_t stop : {cut_at, stall_at}) {
      if (stop > at) n = std::min(n, stop - at);
    }
    const std::span piece{buffer.data(), static_cast<std::size_t>(n)};
    if (!read_body(response, at, piece)) return Body::ended;
    if (fault && fault->flip_at && *fault->flip_at - object_offset - at < n) {
      char& byte = piece[*fault->flip_at - object_offset - at];
      byte = static_cast<char>(~byte);
    }
    if (!send_piece(piece, own)) return Body::ended;
    at += n;
  }
}

Then ResponseSender::cut() {
  log.finish(token, false);
  if (fault && fault->cut == CutWith::reset) connection.reset();
  return Then::close;
}

Then ResponseSender::send(const HttpRequest& request, HttpResponse response) {
  auto framing = Framing::length;
  if (fault && fault->no_length) framing = Framing::end_of_connection;
  if (fault && fault->chunked) framing = Framing::chunks;
  const bool keep = framing != Framing::end_of_connection && !request.http_1_0 &&
                    !same_name(request.header("connection"), "close");
  const std::int64_t resized = static_cast<std::int64_t>(response.body_size()) + (fault ? fault->resize : 0);
  const auto length = static_cast<std::uint64_t>(std::max<std::int64_t>(resized, 0));
  log.set_status(token, response.status);
  if (!connection.send(head_of(response, length, framing, keep))) {
    log.finish(token, false);
    return Then::close;
  }
  if (request.method != "HEAD" && send_body(response, length) == Body::ended) return cut();
  if (framing == Framing::chunks) connection.send(std::string_view{"0\r\n\r\n"});
  log.finish(token, true);
  return keep ? Then::keep : Then::close;
}

}  // namespace decant::test
