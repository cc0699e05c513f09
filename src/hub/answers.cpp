// SPDX-License-Identifier: Apache-2.0
#include "answers.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/model/lock.hpp"
#include "decant/model/manifest.hpp"

namespace decant::hub {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(std::string_view origin, std::string_view why) {
  throw Error{Problem{
      .kind = ErrorKind::network,
      .thing = fmt::format("{} makes no sense", origin),
      .expected = "what the hub's API documents",
      .found = std::string{why},
      .hint = "a proxy or a captive portal may have answered in the hub's place; check the endpoint and "
              "the proxy settings"}};
}

json parse_json(std::string_view text, std::string_view origin) {
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) refuse(origin, "something that is not JSON");
  return value;
}

// Empty when absent or no string.
std::string string_in(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string{};
}

std::uint64_t size_in(const json& object, std::string_view path, std::string_view origin) {
  const auto it = object.find("size");
  if (it == object.end() || !it->is_number_unsigned() || it->get<std::uint64_t>() > model::k_max_size) {
    refuse(origin, fmt::format("no valid size for {}", escape_for_display(path)));
  }
  return it->get<std::uint64_t>();
}

hash::Digest digest_in(const json& object, hash::Algorithm algorithm, std::string_view path,
                       std::string_view origin) {
  const auto digest = hash::Digest::parse(algorithm, string_in(object, "oid"));
  if (!digest) refuse(origin, fmt::format("no valid oid for {}", escape_for_display(path)));
  return *digest;
}

model::ListedFile parse_file(const json& entry, std::string_view origin) {
  model::ListedFile file;
  file.path = string_in(entry, "path");
  if (file.path.empty()) refuse(origin, "a file without a path");
  file.size = size_in(entry, file.path, origin);
  const auto lfs = entry.find("lfs");
  if (lfs != entry.end() && lfs->is_object()) {
    if (size_in(*lfs, file.path, origin) != file.size) {
      refuse(origin, fmt::format("two sizes for {}", escape_for_display(file.path)));
    }
    file.digest = digest_in(*lfs, hash::Algorithm::sha256, file.path, origin);
  } else {
    file.digest = digest_in(entry, hash::Algorithm::git_sha1, file.path, origin);
  }
  file.xet_hash = string_in(entry, "xetHash");
  return file;
}

// One `<url>; name=value; …` of a Link header: its target when it is the next page.
std::string target_if_next(std::string_view link) {
  const auto open = link.find('<');
  const auto close = link.find('>');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  for (const auto& parameter : split(link.substr(close + 1), ';')) {
    std::string text = to_lower_ascii(trim(parameter));
    std::erase(text, '"');
    std::erase(text, ' ');
    if (text == "rel=next") return std::string{link.substr(open + 1, close - open - 1)};
  }
  return {};
}

}  // namespace

RevisionInfo parse_revision(std::string_view text, std::string_view origin) {
  const json value = parse_json(text, origin);
  if (!value.is_object()) refuse(origin, "no object");
  RevisionInfo info{.commit = string_in(value, "sha"),
                    .repo = string_in(value, "id"),
                    .gated = string_in(value, "gated"),
                    .disabled = value.value("disabled", json{}) == json(true)};
  if (!model::is_commit_id(info.commit)) refuse(origin, "no commit id in \"sha\"");
  return info;
}

model::Listing parse_entries(std::string_view text, std::string_view origin) {
  const json value = parse_json(text, origin);
  if (!value.is_array()) refuse(origin, "no list");
  model::Listing listing;
  listing.reserve(value.size());
  for (const auto& entry : value) {
    if (!entry.is_object()) refuse(origin, "a list with something else than objects");
    if (string_in(entry, "type") == "file") listing.push_back(parse_file(entry, origin));
  }
  return listing;
}

std::string paths_info_body(const std::vector<std::string>& paths, std::size_t first, std::size_t count) {
  json list = json::array();
  for (std::size_t i = first; i < first + count; ++i) list.push_back(paths[i]);
  return json{{"paths", std::move(list)}, {"expand", false}}.dump(-1, ' ', false,
                                                                  json::error_handler_t::replace);
}

std::string next_link(const net::ResponseHead& head) {
  for (const auto& [name, value] : head.headers) {
    if (name != "link") continue;
    // A comma also stands inside URLs: links are told apart by the '<' that begins each.
    for (std::size_t at = value.find('<'); at != std::string::npos;) {
      const std::size_t close = value.find('>', at);
      const std::size_t following = close == std::string::npos ? close : value.find('<', close);
      const std::string_view whole{value};
      std::string_view link = whole.substr(at, following == std::string::npos ? following : following - at);
      link = trim(link);
      if (!link.empty() && link.back() == ',') link.remove_suffix(1);
      if (auto target = target_if_next(link); !target.empty()) return target;
      at = following;
    }
  }
  return {};
}

std::string error_words(const net::ResponseHead& head, std::string_view body) {
  if (const auto message = head.header("x-error-message"); !message.empty()) return std::string{message};
  const json value = json::parse(body, nullptr, false);
  if (value.is_object()) {
    const auto error = value.find("error");
    if (error != value.end() && error->is_string()) return error->get<std::string>();
    if (error != value.end() && error->is_array() && !error->empty() && error->front().is_string()) {
      return error->front().get<std::string>();
    }
    const auto errors = value.find("errors");
    if (errors != value.end() && errors->is_array() && !errors->empty() && errors->front().is_object()) {
      return string_in(errors->front(), "message");
    }
    return {};
  }
  const std::string_view text = trim(body);
  return text.empty() || text.front() == '<' ? std::string{} : std::string{text};
}

std::string_view bare_etag(std::string_view value) {
  value = trim(value);
  if (value.substr(0, 2) == "W/") value.remove_prefix(2);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  return value;
}

}  // namespace decant::hub
