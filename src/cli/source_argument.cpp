// SPDX-License-Identifier: Apache-2.0
#include "source_argument.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/rel_path.hpp"
#include "from_places.hpp"

namespace decant::cli {

namespace {

constexpr std::string_view k_hf = "hf://";

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error{Problem{
      .kind = ErrorKind::usage,
      .thing = fmt::format("SOURCE '{}': {}", escape_for_display(text), why),
      .expected = "ORG/NAME, hf://datasets/ORG/NAME[@REV][/PATH], dir:PATH, a path that begins with / "
                  "or ./, or the http(s) address of a mirror",
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

// A page's address from the browser's bar: what is meant is the repo.
bool is_page_of_hub(const std::string& text) {
  const auto host = text.find("//") + 2;
  const auto name = to_lower_ascii(std::string_view{text}.substr(host, text.find('/', host) - host));
  return name == "huggingface.co" || name == "www.huggingface.co" || name == "hf.co";
}

// hf://[TYPE/]ORG/NAME[@REV][/PATH], taken apart: '@' and its revision belong to NAME, so a '@' in PATH
// stays.
struct HfAddress {
  std::string type;  // "datasets/", "models/" or empty
  std::string repo;
  std::optional<std::string> revision;
  std::string path;
};

// The hub's own refs hold slashes, and its tools write them so: refs/pr/1, refs/convert/parquet. Of "refs"
// and the path behind it, the part of the path that still belongs to the revision.
std::size_t rest_of_ref(std::string_view path) {
  for (const std::string_view prefix : {"pr/", "convert/"})
    if (path.starts_with(prefix) && path.size() > prefix.size() && path[prefix.size()] != '/')
      return std::min(path.find('/', prefix.size()), path.size());
  return 0;
}

HfAddress take_apart(const std::string& text) {
  HfAddress out;
  std::string rest = text.substr(k_hf.size());
  for (const std::string_view type : {"datasets/", "models/"})
    if (rest.starts_with(type)) out.type = type;
  if (out.type.empty() && rest.starts_with("spaces/")) refuse(text, "spaces are not supported");
  rest = rest.substr(out.type.size());
  const auto slash = rest.find('/');
  if (slash == std::string::npos) refuse(text, "it names no ORG/NAME");
  const auto end = std::min(rest.find('/', slash + 1), rest.size());
  out.repo = rest.substr(0, end);
  if (end < rest.size()) out.path = rest.substr(end + 1);
  if (const auto at = out.repo.find('@', slash); at != std::string::npos) {
    out.revision = out.repo.substr(at + 1);
    out.repo.resize(at);
    if (out.revision->empty()) refuse(text, "the revision after '@' is empty");
    if (const auto more = rest_of_ref(out.path); *out.revision == "refs" && more > 0) {
      *out.revision += "/" + out.path.substr(0, more);
      out.path.erase(0, more + 1);
    }
  }
  return out;
}

SourceArgument parse_hf(const std::string& text) {
  auto address = take_apart(text);
  SourceArgument out;
  // As everywhere on the hub, an address without a type is a model's.
  out.repo_type = address.type == "datasets/" ? model::RepoType::dataset : model::RepoType::model;
  out.repo = std::move(address.repo);
  out.revision = std::move(address.revision);
  // Other slashes are written percent-encoded, as in the hub's own URLs.
  for (const std::string_view slash : {"%2F", "%2f"})
    while (out.revision && out.revision->find(slash) != std::string::npos)
      out.revision->replace(out.revision->find(slash), slash.size(), "/");
  while (address.path.ends_with('/')) address.path.pop_back();
  if (!address.path.empty()) {
    if (!fs::RelPath::parse(address.path)) refuse(text, "what follows NAME is no path in a repo");
    out.path = std::move(address.path);
  }
  return out;
}

}  // namespace

SourceArgument parse_source(const std::string& text) {
  SourceArgument out;
  if (auto directory = directory_in(text)) {
    out.kind = model::SourceKind::directory;
    out.directory = std::move(*directory);
    if (out.directory.empty()) refuse(text, "the path is empty");
    return out;
  }
  if (text.starts_with("http://") || text.starts_with("https://")) {
    if (is_page_of_hub(text)) refuse(text, "that is a page of the hub, not the address of a mirror");
    out.kind = model::SourceKind::mirror;
    out.mirror = text;
    return out;
  }
  if (text.starts_with(k_hf)) {
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

std::string without_revision(const std::string& text) {
  if (!text.starts_with(k_hf)) return text;
  const auto address = take_apart(text);
  std::string out = std::string{k_hf} + address.type + address.repo;
  return address.path.empty() ? out : out + "/" + address.path;
}

}  // namespace decant::cli
