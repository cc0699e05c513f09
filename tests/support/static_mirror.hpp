// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "support/hub/http_server.hpp"
#include "support/temp_dir.hpp"

namespace decant::test {

// A static web server over a directory, as a mirror is one: ranges, 404, and a log of what was asked.
class StaticMirror {
 public:
  explicit StaticMirror(std::string root)
      : root_{std::move(root)},
        server_{{.opened = [] {},
                 .closed = [] {},
                 .serve = [this](Connection& connection,
                                 const HttpRequest& request) { return serve(connection, request); }},
                numbers_} {
    server_.start();
  }

  std::string address() const { return server_.origin(); }
  std::vector<std::string> asked() const {
    const std::lock_guard lock{mutex_};
    return asked_;
  }
  bool saw_a_token() const { return saw_a_token_; }
  // Connections are refused from now on.
  void refuse() { server_.refuse(std::chrono::milliseconds{0}); }

  std::function<std::string(const std::string& path, std::string bytes)> change;  // what is sent instead
  bool ignores_range = false;
  std::function<std::string(const std::string& path)> redirect;  // "": none

 private:
  HttpServer::Then serve(Connection& connection, const HttpRequest& request) {
    std::string path = percent_decode(request.raw_path());
    {
      const std::lock_guard lock{mutex_};
      asked_.push_back(path);
    }
    if (request.has_header("authorization") || request.has_header("cookie")) saw_a_token_ = true;
    if (const std::string to = redirect ? redirect(path) : std::string{}; !to.empty())
      return send(connection, "302 Found", "Location: " + to + "\r\n", "");
    const std::string file = root_ + path;
    if (!std::filesystem::is_regular_file(file)) return send(connection, "404 Not Found", "", "not here");
    std::string bytes = read_file(file);
    if (change) bytes = change(path, std::move(bytes));
    const auto range = ignores_range ? std::nullopt : parse_range(request.header("range"));
    if (!range || !range->first) return send(connection, "200 OK", "", bytes);
    const auto last = std::min<std::uint64_t>(range->last.value_or(bytes.size() - 1), bytes.size() - 1);
    if (*range->first >= bytes.size())
      return send(connection, "416 Range Not Satisfiable",
                  fmt::format("Content-Range: bytes */{}\r\n", bytes.size()), "");
    return send(connection, "206 Partial Content",
                fmt::format("Content-Range: bytes {}-{}/{}\r\n", *range->first, last, bytes.size()),
                bytes.substr(*range->first, last - *range->first + 1));
  }

  static HttpServer::Then send(Connection& connection, std::string_view status, const std::string& headers,
                               const std::string& body) {
    const std::string text =
        fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(), headers, body);
    return connection.send(text) ? HttpServer::Then::keep : HttpServer::Then::close;
  }

  const std::string root_;
  mutable std::mutex mutex_;
  std::vector<std::string> asked_;
  std::atomic<bool> saw_a_token_{false};
  std::atomic<std::uint64_t> numbers_{0};
  HttpServer server_;  // ends first
};

}  // namespace decant::test
