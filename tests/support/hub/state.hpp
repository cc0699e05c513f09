// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "support/hub/http_message.hpp"
#include "support/hub/repo.hpp"
#include "support/test_hub.hpp"

namespace decant::test {

// What the routes of both listeners share.
struct HubState {
  std::string endpoint;
  std::string cdn_origin;
  std::atomic<std::int64_t> clock_offset{0};
  std::atomic<std::int64_t> url_lifetime{3600};
  std::atomic<std::int64_t> url_age{0};
  std::atomic<std::uint64_t> url_epoch{0};
  std::atomic<std::size_t> page_size{0};  // 0: 1000, or 50 with expand
  std::atomic<std::uint64_t> max_unranged{200'000'000'000};
  std::atomic<std::uint64_t> next_request_id{1};
  std::atomic<bool> modelscope_errors_in_body{false};

  std::int64_t now() const { return static_cast<std::int64_t>(std::time(nullptr)) + clock_offset; }

  TestRepo& add_repo(RepoOptions options);
  // nullptr: none. `collection` is models, datasets or spaces.
  std::shared_ptr<TestRepo> find_repo(std::string_view collection, const std::string& id) const;
  // The object that a CDN URL names: repo, path in it, and SHA-256 or Xet hash.
  std::optional<Content> find_object(const std::string& id, const std::string& file,
                                     const std::string& hash) const;
  std::string renamed_to(std::string_view collection, const std::string& old_id) const;  // empty: not renamed

  void add_token(const std::string& token, TestHub::TokenKind kind);
  void drop_token(const std::string& token);
  std::optional<TestHub::TokenKind> token_kind(const std::string& token) const;

  void set_page_origin(const std::string& origin);
  std::string page_origin() const;

  struct Quota {
    std::uint64_t limit = 100'000;
    std::uint64_t used = 0;
  };
  void set_quota(std::uint64_t api, std::uint64_t resolvers);
  // Takes one request from the bucket; adds the headers that tell what is left. False: 429.
  bool spend(std::string_view bucket, Headers& headers);

  // The signature of a URL of the CDN.
  std::string sign(std::string_view path, std::string_view file, std::int64_t expires) const;

 private:
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<TestRepo>> repos_;
  std::map<std::string, TestHub::TokenKind> tokens_;
  std::string page_origin_;
  std::map<std::string, Quota, std::less<>> quotas_{{"api", {}}, {"resolvers", {}}};
  std::int64_t window_ = 0;
};

// The collection of a repo type: "datasets" for "dataset".
std::string collection_of(std::string_view type);

// `content` as asked for by Range: 200, 206, or 416 with an exact Content-Range.
HttpResponse serve_content(const HttpRequest& request, const Content& content, const std::string& etag);

// Error answer of the hub: X-Error-Code (unless empty), X-Error-Message and {"error": message}.
HttpResponse hub_error(int status, std::string_view code, const std::string& message);

// A hub request after routing by path.
struct HubRoute {
  std::string collection;
  std::string id;
  std::string
      action;  // info, revision, tree, paths-info, refs, auth-check, xet-read-token, resolve, resolve-cache
  std::string revision;
  std::string path;       // of a file or directory
  std::string before_id;  // the target around the id, as sent: for renamed repos
  std::string after_id;
};
std::optional<HubRoute> route_hub(const HttpRequest& request);

// A URL of the CDN for an object of repo `id`, good for the life of such URLs.
std::string signed_url(const HubState& state, const std::string& id, const std::string& path,
                       const HubObject& object);

// A request in ModelScope's words.
struct ModelScopeRoute {
  std::string collection;
  std::string id;
  std::string action;    // repo (download), repo/files, repo/tree, revisions; empty: info
  std::string revision;  // master is main where there is no ref of that name
  std::string path;      // of a file to download
};
std::optional<ModelScopeRoute> route_modelscope(const HttpRequest& request);
HttpResponse answer_modelscope(HubState& state, const HttpRequest& request, const ModelScopeRoute& route);

HttpResponse answer_hub(HubState& state, const HttpRequest& request, const Fault* fault);
HttpResponse answer_api(HubState& state, const HttpRequest& request, const HubRoute& route,
                        const TestRepo& repo);
HttpResponse answer_resolve(HubState& state, const HttpRequest& request, const HubRoute& route,
                            const TestRepo& repo, const Fault* fault);
HttpResponse answer_cdn(HubState& state, const HttpRequest& request, const Fault* fault);
// The path in the repo of the object that a request asks for; empty for API calls.
std::string file_of(Where where, const HttpRequest& request);
// Refuses who may not read; nullopt: may.
std::optional<HttpResponse> check_access(const HubState& state, const HttpRequest& request,
                                         const HubRoute& route, const TestRepo* repo);

}  // namespace decant::test
