// SPDX-License-Identifier: Apache-2.0
#include "source_argument.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"

namespace decant::cli {

namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error{Problem{.kind = ErrorKind::usage,
                      .thing = fmt::format("SOURCE '{}': {}", escape_for_display(text), why),
                      .expected =
                          "ORG/NAME, hf://datasets/ORG/NAME[@REV][/PATH], dir:PATH, or a path that begins "
                          "with / or ./",
                      .found = escape_for_display(text),
                      .hint = "see decant restore --help"}};
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 96 && name != "." && name != ".." &&
         std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                  c == '_' || c == '-';
         });
}

SourceArgument parse_hf(const std::string& text) {
  SourceArgument out;
  std::string rest = text.substr(std::string_view{"hf://"}.size());
  for (const auto& [prefix, type] : {std::pair{std::string{"datasets/"}, model::RepoType::dataset},
                                     std::pair{std::string{"models/"}, model::RepoType::model}}) {
    if (!rest.starts_with(prefix)) continue;
    out.repo_type = type;
    rest = rest.substr(prefix.size());
    break;
  }
  if (rest.starts_with("spaces/")) refuse(text, "spaces are not supported");
  const auto slash = rest.find('/');
  if (slash == std::string::npos) refuse(text, "it names no ORG/NAME");
  const auto at = rest.find('@', slash);
  const auto after_name = at != std::string::npos ? at : rest.find('/', slash + 1);
  out.repo = rest.substr(0, std::min(after_name, rest.find('/', slash + 1)));
  if (at != std::string::npos) {
    out.repo = rest.substr(0, at);
    const auto path = rest.find('/', at);
    out.revision = rest.substr(at + 1, path == std::string::npos ? path : path - at - 1);
    // refs/pr/1 holds slashes: written percent-encoded, as in the hub's own URLs.
    for (auto i = out.revision->find("%2F"); i != std::string::npos; i = out.revision->find("%2F"))
      out.revision->replace(i, 3, "/");
    if (out.revision->empty()) refuse(text, "the revision after '@' is empty");
    if (path != std::string::npos && path + 1 < rest.size()) out.path = rest.substr(path + 1);
  } else if (after_name != std::string::npos && after_name + 1 < rest.size()) {
    out.path = rest.substr(after_name + 1);
  }
  if (out.path && out.path->ends_with('/')) out.path->pop_back();
  return out;
}

}  // namespace

SourceArgument parse_source(const std::string& text) {
  SourceArgument out;
  if (text.starts_with("dir:") || text.starts_with("/") || text.starts_with("./") ||
      text.starts_with("../") || text == "." || text == "..") {
    out.kind = model::SourceKind::directory;
    out.directory = text.starts_with("dir:") ? text.substr(4) : text;
    if (out.directory.empty()) refuse(text, "the path is empty");
    return out;
  }
  if (text.starts_with("http://") || text.starts_with("https://"))
    refuse(text, "an http(s) address is no source of this version");
  if (text.starts_with("hf://")) {
    out = parse_hf(text);
  } else if (text.find("://") != std::string::npos) {
    refuse(text, "unknown kind of address");
  } else {
    out.repo = text;
  }
  const auto slash = out.repo.find('/');
  if (slash == std::string::npos || !is_name(std::string_view{out.repo}.substr(0, slash)) ||
      !is_name(std::string_view{out.repo}.substr(slash + 1)))
    refuse(text, "it is neither a repo name nor a path");
  return out;
}

}  // namespace decant::cli
