// SPDX-License-Identifier: Apache-2.0
#include "token.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "decant/base/text.hpp"

namespace decant::cli {

namespace {

hub::Token checked(std::string_view raw, std::string came_from) {
  const auto text = trim(raw);
  if (text.empty()) return {};
  if (!std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; }))
    throw Error{ErrorKind::usage,
                fmt::format("the token from {} holds a blank, control or non-ASCII character", came_from),
                "write the token there again, alone on one line"};
  ::prctl(PR_SET_DUMPABLE, 0);  // no core dump while a token is held
  return {.value = net::Secret{std::string{text}}, .came_from = std::move(came_from)};
}

std::optional<std::string> read_token_file(Session& session, const std::string& path) {
  const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (!fd) return std::nullopt;
  struct stat facts = {};
  if (::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return std::nullopt;
  if ((facts.st_mode & 0077) != 0)
    session.reporter().message(progress::Level::warning,
                               fmt::format("the token file {} can be read by other users; run: chmod 600 {}",
                                           escape_for_display(path), escape_for_display(path)));
  std::array<char, 4096> buffer{};
  const auto size = ::read(fd.get(), buffer.data(), buffer.size());
  return std::string{buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

std::string expand_home(const std::string& path, Session& session) {
  if (path != "~" && !path.starts_with("~/")) return path;
  return session.env("HOME").value_or("") + path.substr(1);
}

}  // namespace

hub::Token find_token(Session& session) {
  if (const auto value = session.env("HF_TOKEN")) {
    auto token = checked(*value, "HF_TOKEN");
    if (!token.value.empty()) return token;
  }
  if (const auto path = session.env("HF_TOKEN_PATH")) {
    const auto place = expand_home(*path, session);
    if (const auto text = read_token_file(session, place))
      return checked(*text, fmt::format("the file HF_TOKEN_PATH names ({})", escape_for_display(place)));
    session.reporter().message(
        progress::Level::warning,
        fmt::format("HF_TOKEN_PATH names {}, which is no readable file: going on without a token",
                    escape_for_display(place)));
    return {};
  }
  auto home = session.env("HF_HOME");
  if (!home) {
    if (const auto cache = session.env("XDG_CACHE_HOME"))
      home = *cache + "/huggingface";
    else if (session.env("HOME"))
      home = *session.env("HOME") + "/.cache/huggingface";
  }
  if (!home) return {};
  const auto place = expand_home(*home, session) + "/token";
  if (const auto text = read_token_file(session, place))
    return checked(*text, fmt::format("HF_HOME/token ({})", escape_for_display(place)));
  return {};
}

}  // namespace decant::cli
