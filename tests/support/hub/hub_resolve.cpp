// SPDX-License-Identifier: Apache-2.0
// What a file is and where its bytes are: resolve, signed URLs, and the CDN that honours them.
#include <charconv>

#include <nlohmann/json.hpp>

#include "support/hub/state.hpp"

namespace decant::test {
namespace {

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

std::string api_base(const HubState& state, const HubRoute& route) {
  return state.endpoint + "/api/" + route.collection + "/" + route.id;
}

std::string amz_date(std::int64_t unix_seconds) {
  const auto when = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts)};
}

void add_xet_headers(HttpResponse& response, const HubState& state, const HubRoute& route,
                     const Commit& commit, const HubObject& object) {
  response.set("X-Xet-Hash", object.xet_hash);
  response.set("Link", "<" + api_base(state, route) + "/xet-read-token/" + commit.id +
                           ">; rel=\"xet-auth\", <" + state.cdn_origin + "/v1/reconstructions/" +
                           object.xet_hash + ">; rel=\"xet-reconstruction-info\"");
}

HttpResponse xet_file_info(const HubState& state, const HubRoute& route, const Commit& commit,
                           const HubObject& object) {
  const nlohmann::json info{
      {"hash", object.xet_hash},
      {"refreshUrl", api_base(state, route) + "/xet-read-token/" + commit.id},
      {"reconstructionUrl", state.cdn_origin + "/v1/reconstructions/" + object.xet_hash},
      {"etag", quoted(object.sha256)},
      {"size", object.content.size()},
      {"fileType", "file"}};
  HttpResponse response{.body = info.dump()};
  response.set("Content-Type", "application/vnd.xet-fileinfo+json");
  return response;
}

HttpResponse regular_file(const HttpRequest& request, const HubRoute& route, const Commit& commit,
                          const HubObject& object, bool through_cache) {
  const std::string etag = quoted(object.oid);
  if (!through_cache) {
    HttpResponse response = serve_content(request, object.content, etag);
    response.set("Content-Type", "text/plain; charset=utf-8");
    return response;
  }
  HttpResponse response{.status = 307, .body = "Temporary Redirect"};
  const auto old_query = request.raw_query();
  response.set("Location", "/api/resolve-cache/" + route.collection + "/" + route.id + "/" + commit.id + "/" +
                               percent_encode_all(route.path) + "?" + std::string{old_query} +
                               (old_query.empty() ? "" : "&") + "etag=" + percent_encode_all(etag));
  response.set("X-Linked-Size", std::to_string(object.content.size()));
  response.set("X-Linked-ETag", etag);
  return response;
}

HttpResponse access_denied(std::string_view why) {
  HttpResponse response{.status = 403};
  response.set("Content-Type", "application/xml");
  response.body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>AccessDenied</Code><Message>" +
                  std::string{why} + "</Message></Error>";
  return response;
}

HttpResponse plain_400() {
  HttpResponse response{.status = 400, .body = "<html><body><h1>400</h1></body></html>"};
  response.set("Content-Type", "text/html");
  return response;
}

// What a fault puts in place of an object, told truthfully; where its bytes are asked for stays as it was.
HubObject replaced(HubObject object, const Content& content) {
  object.content = content;
  if (object.is_lfs()) {
    object.sha256 = content.sha256();
  } else {
    object.oid = content.git_sha1();
  }
  return object;
}

}  // namespace

// LFS objects get the newer form (`Expires=` as unix time), Xet objects the older one (date and life).
std::string signed_url(const HubState& state, const std::string& id, const std::string& repo_path,
                       const HubObject& object) {
  const std::int64_t signed_at = state.now() - state.url_age;
  const std::int64_t expires = signed_at + state.url_lifetime;
  const bool xet = object.store == Store::xet;
  const std::string path = (xet ? "/xet-bridge/" : "/repos/") + percent_encode_path(id) + "/" +
                           (xet ? object.xet_hash : object.sha256);
  const std::string file = "file=" + percent_encode_all(repo_path);
  const std::string signature = state.sign(path, repo_path, expires);
  if (xet) {
    return state.cdn_origin + path + "?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=" + amz_date(signed_at) +
           "&X-Amz-Expires=" + std::to_string(state.url_lifetime) +
           "&X-Amz-SignedHeaders=host&X-Xet-Cas-Uid=public&" + file +
           "&X-Deadline=" + std::to_string(expires) + "&X-Amz-Signature=" + signature;
  }
  return state.cdn_origin + path +
         "?response-content-type=application%2Foctet-stream&Expires=" + std::to_string(expires) + "&" + file +
         "&Policy=e30_&Signature=" + signature + "&Key-Pair-Id=KTESTHUB";
}

HttpResponse answer_resolve(HubState& state, const HttpRequest& request, const HubRoute& route,
                            const TestRepo& repo, const Fault* fault) {
  const auto commit = repo.find_commit(route.revision);
  if (!commit) return hub_error(404, "RevisionNotFound", "Invalid rev id: " + route.revision);
  const auto found = commit->files.find(route.path);
  HttpResponse response;
  if (found == commit->files.end()) {
    response = hub_error(404, "EntryNotFound", "Entry not found");
  } else {
    const HubObject object =
        fault && fault->content ? replaced(found->second, *fault->content) : found->second;
    const bool wants_xet_info =
        request.header("accept").find("application/vnd.xet-fileinfo+json") != std::string_view::npos;
    if (object.store == Store::xet && wants_xet_info && request.method == "GET") {
      response = xet_file_info(state, route, *commit, object);
    } else if (object.is_lfs()) {
      response = {.status = 302, .body = "Found. Redirecting to the storage"};
      response.set("Content-Type", "text/plain; charset=utf-8");
      response.set("Location", signed_url(state, route.id, route.path, found->second));
      response.set("Accept-Ranges", "bytes");
      response.set("ETag", quoted(object.oid));
    } else {
      const bool through_cache = repo.options().resolve_cache && route.action == "resolve";
      response = regular_file(request, route, *commit, object, through_cache);
    }
    if (object.is_lfs()) {
      response.set("X-Linked-Size", std::to_string(object.content.size()));
      response.set("X-Linked-ETag", quoted(object.sha256));
    }
    if (object.store == Store::xet) add_xet_headers(response, state, route, *commit, object);
  }
  response.set("X-Repo-Commit", commit->id);
  return response;
}

HttpResponse answer_cdn(HubState& state, const HttpRequest& request, const Fault* fault) {
  if (request.has_header("authorization")) {
    return {.status = 400, .body = "Only one auth mechanism allowed"};
  }
  if (request.method != "GET" && request.method != "HEAD") return {.status = 405};
  const auto segments = request.path_segments();
  if (segments.size() != 4) return access_denied("Access Denied");
  const bool xet = segments[0] == "xet-bridge";
  const std::string deadline = request.query_value(xet ? "X-Deadline" : "Expires");
  std::int64_t expires = 0;
  std::from_chars(deadline.data(), deadline.data() + deadline.size(), expires);
  const std::string file = request.query_value("file");
  if (request.query_value(xet ? "X-Amz-Signature" : "Signature") !=
      state.sign(request.raw_path(), file, expires)) {
    return access_denied("Access Denied");
  }
  if (state.now() >= expires) return access_denied("Request has expired");
  auto content = state.find_object(segments[1] + "/" + segments[2], file, segments[3]);
  if (fault && fault->content) content = fault->content;
  if (!content) return access_denied("Access Denied");
  if (request.method == "GET" && request.header("range").empty() && content->size() > state.max_unranged) {
    return plain_400();
  }
  // Not the digest of the content: the CDN's validator is its own, as at the real one.
  HttpResponse response = serve_content(request, *content, quoted(sha256_hex(segments[3]).substr(0, 32)));
  response.set("X-Amz-Cf-Id", "cf-" + std::to_string(state.next_request_id++));
  response.set("Last-Modified", "Mon, 01 Jun 2026 00:00:00 GMT");
  return response;
}

}  // namespace decant::test
