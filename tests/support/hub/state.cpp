// SPDX-License-Identifier: Apache-2.0
#include "support/hub/state.hpp"

#include <algorithm>
#include <utility>

namespace decant::test {
namespace {

constexpr std::int64_t k_window_seconds = 300;

}  // namespace

std::string collection_of(std::string_view type) {
  return std::string{type} + "s";
}

TestRepo& HubState::add_repo(RepoOptions options) {
  const std::lock_guard lock{mutex_};
  for (const std::string& token : options.accepted_tokens) tokens_.emplace(token, TestHub::TokenKind::full);
  return *repos_.emplace_back(std::make_shared<TestRepo>(std::move(options)));
}

std::shared_ptr<TestRepo> HubState::find_repo(std::string_view collection, const std::string& id) const {
  const std::lock_guard lock{mutex_};
  for (const auto& repo : repos_) {
    const RepoOptions options = repo->options();
    if (collection_of(options.type) == collection && options.id == id) return repo;
  }
  return nullptr;
}

std::optional<Content> HubState::find_object(const std::string& id, const std::string& file,
                                             const std::string& hash) const {
  const std::lock_guard lock{mutex_};
  for (const auto& repo : repos_) {
    if (repo->options().id != id) continue;
    if (auto content = repo->find_object(file, hash)) return content;
  }
  return std::nullopt;
}

std::string HubState::renamed_to(std::string_view collection, const std::string& old_id) const {
  const std::lock_guard lock{mutex_};
  for (const auto& repo : repos_) {
    const RepoOptions options = repo->options();
    const auto& old = options.renamed_from;
    if (collection_of(options.type) == collection && std::find(old.begin(), old.end(), old_id) != old.end()) {
      return options.id;
    }
  }
  return {};
}

void HubState::add_token(const std::string& token, TestHub::TokenKind kind) {
  const std::lock_guard lock{mutex_};
  tokens_[token] = kind;
}

void HubState::drop_token(const std::string& token) {
  const std::lock_guard lock{mutex_};
  tokens_.erase(token);
}

std::optional<TestHub::TokenKind> HubState::token_kind(const std::string& token) const {
  const std::lock_guard lock{mutex_};
  const auto found = tokens_.find(token);
  return found == tokens_.end() ? std::nullopt : std::optional{found->second};
}

void HubState::set_page_origin(const std::string& origin) {
  const std::lock_guard lock{mutex_};
  page_origin_ = origin;
}

std::string HubState::page_origin() const {
  const std::lock_guard lock{mutex_};
  return page_origin_.empty() ? endpoint : page_origin_;
}

void HubState::set_quota(std::uint64_t api, std::uint64_t resolvers) {
  const std::lock_guard lock{mutex_};
  quotas_.find("api")->second = {.limit = api};
  quotas_.find("resolvers")->second = {.limit = resolvers};
  window_ = now() / k_window_seconds;
}

bool HubState::spend(std::string_view bucket, Headers& headers) {
  const std::lock_guard lock{mutex_};
  const std::int64_t time = now();
  if (time / k_window_seconds != window_) {
    window_ = time / k_window_seconds;
    for (auto& [name, quota] : quotas_) quota.used = 0;
  }
  Quota& quota = quotas_.find(bucket)->second;
  const bool allowed = quota.used < quota.limit;
  if (allowed) ++quota.used;
  const std::string name = "\"" + std::string{bucket} + "\"";
  headers.emplace_back("RateLimit", name + ";r=" + std::to_string(quota.limit - quota.used) +
                                        ";t=" + std::to_string(k_window_seconds - time % k_window_seconds));
  headers.emplace_back("RateLimit-Policy", "\"fixed window\";" + name + ";q=" + std::to_string(quota.limit) +
                                               ";w=" + std::to_string(k_window_seconds));
  return allowed;
}

std::string HubState::sign(std::string_view path, std::string_view file, std::int64_t expires) const {
  return sha256_hex("key " + std::to_string(url_epoch) + "\n" + std::string{path} + "\n" + std::string{file} +
                    "\n" + std::to_string(expires));
}

HttpResponse hub_error(int status, std::string_view code, const std::string& message) {
  HttpResponse response{.status = status};
  std::string escaped;
  for (const char c : message) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  if (!code.empty()) response.set("X-Error-Code", std::string{code});
  response.set("X-Error-Message", message);
  response.set("Content-Type", "application/json; charset=utf-8");
  response.body = "{\"error\":\"" + escaped + "\"}";
  return response;
}

HttpResponse serve_content(const HttpRequest& request, const Content& content, const std::string& etag) {
  HttpResponse response;
  const std::uint64_t size = content.size();
  response.set("Content-Type", "application/octet-stream");
  response.set("Accept-Ranges", "bytes");
  response.set("ETag", etag);
  response.body = ContentSlice{content, 0, size};
  const auto range = parse_range(request.header("range"));
  const auto condition = request.header("if-range");
  if (!range || (!condition.empty() && condition != etag)) return response;

  const std::uint64_t first = range->first ? *range->first : size - std::min(size, *range->last);
  if (first >= size) {
    response.status = 416;
    response.set("Content-Range", "bytes */" + std::to_string(size));
    response.body = std::string{};
    return response;
  }
  const std::uint64_t last = range->first && range->last ? std::min(*range->last, size - 1) : size - 1;
  response.status = 206;
  response.set("Content-Range",
               "bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" + std::to_string(size));
  response.body = ContentSlice{content, first, last - first + 1};
  return response;
}

}  // namespace decant::test
