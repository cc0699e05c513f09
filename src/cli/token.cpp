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
#include "environment.hpp"

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

// Where the official client keeps its things.
std::optional<std::string> hf_home(const Session& session) {
  if (const auto home = session.env("HF_HOME")) return expand_path(*home, session);
  if (const auto cache = session.env("XDG_CACHE_HOME")) return expand_path(*cache, session) + "/huggingface";
  if (const auto home = session.env("HOME")) return *home + "/.cache/huggingface";
  return std::nullopt;
}

hub::Token stored_token(Session& session) {
  if (const auto path = session.env("HF_TOKEN_PATH")) {
    const auto place = expand_path(*path, session);
    if (const auto text = read_token_file(session, place))
      return checked(*text, fmt::format("the file HF_TOKEN_PATH names ({})", escape_for_display(place)));
    session.reporter().message(
        progress::Level::warning,
        fmt::format("HF_TOKEN_PATH names {}, which is no readable file: going on without a token",
                    escape_for_display(place)));
    return {};
  }
  const auto home = hf_home(session);
  if (!home) return {};
  const auto place = *home + "/token";
  if (const auto text = read_token_file(session, place))
    return checked(*text, fmt::format("HF_HOME/token ({})", escape_for_display(place)));
  return {};
}

hub::Token any_token(Session& session) {
  if (const auto value = session.env("HF_TOKEN")) {
    auto token = checked(*value, "HF_TOKEN");
    if (!token.value.empty()) return token;
  }
  if (const auto value = session.env("HUGGING_FACE_HUB_TOKEN")) {
    auto token = checked(*value, "HUGGING_FACE_HUB_TOKEN");
    if (!token.value.empty()) return token;
  }
  return stored_token(session);
}

}  // namespace

hub::Token find_token(Session& session) {
  if (session.env("HF_OIDC_RESOURCE"))
    session.reporter().message(
        progress::Level::warning,
        "HF_OIDC_RESOURCE is set, but decant exchanges no identity for a token; it looks "
        "for a token in HF_TOKEN and the token file");
  auto token = any_token(session);
  if (!is_on(session.env("HF_HUB_DISABLE_IMPLICIT_TOKEN")) || token.value.empty()) return token;
  session.reporter().message(
      progress::Level::warning,
      fmt::format("HF_HUB_DISABLE_IMPLICIT_TOKEN is set: the token from {} is not used", token.came_from));
  return {};
}

hub::Token find_modelscope_token(const Session& session) {
  const auto value = session.env("MODELSCOPE_API_TOKEN");
  return value ? checked(*value, "MODELSCOPE_API_TOKEN") : hub::Token{};
}

}  // namespace decant::cli
