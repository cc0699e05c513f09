// SPDX-License-Identifier: Apache-2.0
#include "address.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"

namespace decant::hub {
namespace {

using net::percent_encode;
using net::Slash;

constexpr std::size_t k_longest_repo_name = 96;

bool is_name_part(std::string_view part) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  const auto at_edge = [](char c) { return c == '-' || c == '.'; };
  return !part.empty() && std::all_of(part.begin(), part.end(), fits) && !at_edge(part.front()) &&
         !at_edge(part.back()) && part.find("--") == std::string_view::npos &&
         part.find("..") == std::string_view::npos;
}

}  // namespace

Endpoint parse_endpoint(std::string_view text, std::string_view where, std::string_view example) {
  std::string_view bare = trim(text);
  while (!bare.empty() && bare.back() == '/') bare.remove_suffix(1);
  auto url = net::parse_url(bare);
  if (!url || bare.find_first_of("?#") != std::string_view::npos) {
    throw Error{Problem{.kind = ErrorKind::usage,
                        .thing = "the hub endpoint cannot be used",
                        .expected = "an http or https URL without user, query and fragment",
                        .found = bare.find('@') == std::string_view::npos ? escape_for_display(text)
                                                                          : "a URL with a user or password",
                        .hint = fmt::format("correct {}, for instance {}", where, example)}};
  }
  Endpoint endpoint{.origin = std::move(url->origin), .prefix = std::move(url->path_and_query)};
  if (endpoint.prefix == "/") endpoint.prefix.clear();
  return endpoint;
}

bool is_repo_name(std::string_view name) {
  if (name.size() > k_longest_repo_name) return false;
  const auto slash = name.find('/');
  if (slash == std::string_view::npos) return is_name_part(name);
  return is_name_part(name.substr(0, slash)) && is_name_part(name.substr(slash + 1));
}

std::string Address::name() const {
  return fmt::format("{}/{}", type_ == model::RepoType::dataset ? "datasets" : "models", repo_);
}

std::string Address::page() const {
  return fmt::format("{}/{}{}", endpoint_.str(), type_ == model::RepoType::dataset ? "datasets/" : "", repo_);
}

std::string Address::api() const {
  return "/api/" + name();
}

net::Url Address::url(std::string path_and_query) const {
  return {.origin = endpoint_.origin, .path_and_query = endpoint_.prefix + std::move(path_and_query)};
}

net::Url Address::revision(std::string_view revision) const {
  return url(fmt::format("{}/revision/{}", api(), percent_encode(revision, Slash::encode)));
}

net::Url Address::tree(std::string_view commit, std::string_view prefix) const {
  const std::string below = prefix.empty() ? "" : "/" + percent_encode(prefix, Slash::encode);
  return url(fmt::format("{}/tree/{}{}?recursive=true&expand=false", api(), commit, below));
}

net::Url Address::paths_info(std::string_view commit) const {
  return url(fmt::format("{}/paths-info/{}", api(), commit));
}

net::Url Address::file(std::string_view commit, std::string_view path) const {
  return url(fmt::format("/{}{}/resolve/{}/{}", type_ == model::RepoType::dataset ? "datasets/" : "", repo_,
                         commit, percent_encode(path, Slash::keep)));
}

net::Url Address::at_endpoint(const net::Url& url) const {
  net::Url result{.origin = endpoint_.origin, .path_and_query = url.path_and_query};
  const std::string prefix = endpoint_.prefix + "/";
  if (result.path_and_query.compare(0, prefix.size(), prefix) != 0) {
    result.path_and_query.insert(0, endpoint_.prefix);
  }
  return result;
}

}  // namespace decant::hub
