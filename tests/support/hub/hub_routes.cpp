// SPDX-License-Identifier: Apache-2.0
// Requests of the hub's listener: which repo and action, who may, and what every answer carries.
#include <algorithm>
#include <array>
#include <utility>

#include "support/hub/state.hpp"

namespace decant::test {
namespace {

constexpr std::array<std::string_view, 3> k_collections{"models", "datasets", "spaces"};

bool is_collection(std::string_view word) {
  return std::find(k_collections.begin(), k_collections.end(), word) != k_collections.end();
}

std::string join_from(const std::vector<std::string>& segments, std::size_t first) {
  std::string path;
  for (std::size_t i = first; i < segments.size(); ++i) path += (i > first ? "/" : "") + segments[i];
  return path;
}

// Splits the target around the two segments of the id, which begin at segment `at`.
void remember_around_id(HubRoute& route, const std::string& target, std::size_t at) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= at; ++i) begin = target.find('/', begin) + 1;
  const auto second = target.find('/', begin);
  const auto end = std::min(target.find_first_of("/?", second + 1), target.size());
  route.before_id = target.substr(0, begin);
  route.after_id = target.substr(end);
}

std::optional<HubRoute> route_api(const HttpRequest& request, const std::vector<std::string>& s) {
  HubRoute route;
  if (s.size() >= 7 && s[1] == "resolve-cache" && is_collection(s[2])) {
    route = {.collection = s[2],
             .id = s[3] + "/" + s[4],
             .action = s[1],
             .revision = s[5],
             .path = join_from(s, 6)};
    remember_around_id(route, request.target, 3);
    return route;
  }
  if (s.size() < 4 || !is_collection(s[1])) return std::nullopt;
  route = {.collection = s[1], .id = s[2] + "/" + s[3], .action = s.size() > 4 ? s[4] : "info"};
  if (s.size() > 5) route.revision = s[5];
  if (s.size() > 6) route.path = join_from(s, 6);
  if (route.action == "info") route.revision = "main";
  remember_around_id(route, request.target, 2);
  return route;
}

std::string bearer_of(const HttpRequest& request) {
  constexpr std::string_view scheme = "Bearer ";
  std::string_view value = request.header("authorization");
  if (!value.starts_with(scheme)) return std::string{value};
  value.remove_prefix(scheme.size());
  return std::string{value};
}

HttpResponse with_message(int status, const std::string& message) {
  return hub_error(status, "", message);
}

HttpResponse answer_route(HubState& state, const HttpRequest& request, const HubRoute& route,
                          const Fault* fault) {
  if (const std::string id = state.renamed_to(route.collection, route.id); !id.empty()) {
    HttpResponse moved{.status = 307, .body = "Temporary Redirect. Redirecting to the new name"};
    moved.set("Location", route.before_id + id + route.after_id);
    return moved;
  }
  const auto repo = state.find_repo(route.collection, route.id);
  if (auto refusal = check_access(state, request, route, repo.get())) return std::move(*refusal);
  const bool resolves = route.action == "resolve" || route.action == "resolve-cache";
  return resolves ? answer_resolve(state, request, route, *repo, fault)
                  : answer_api(state, request, route, *repo);
}

}  // namespace

std::optional<HubRoute> route_hub(const HttpRequest& request) {
  const auto s = request.path_segments();
  if (s.size() >= 2 && s[0] == "api") return route_api(request, s);
  const std::size_t at = !s.empty() && (s[0] == "datasets" || s[0] == "spaces") ? 1 : 0;
  if (s.size() < at + 5 || s[at + 2] != "resolve") return std::nullopt;
  HubRoute route{.collection = at == 1 ? s[0] : "models",
                 .id = s[at] + "/" + s[at + 1],
                 .action = "resolve",
                 .revision = s[at + 3],
                 .path = join_from(s, at + 4)};
  remember_around_id(route, request.target, at);
  return route;
}

std::optional<HttpResponse> check_access(const HubState& state, const HttpRequest& request,
                                         const HubRoute& route, const TestRepo* repo) {
  const std::string token = bearer_of(request);
  const auto kind = token.empty() ? std::nullopt : state.token_kind(token);
  if (!token.empty() && !kind) return with_message(401, "Invalid credentials in Authorization header");

  const RepoOptions options = repo ? repo->options() : RepoOptions{};
  const auto& accepted = options.accepted_tokens;
  const bool listed = kind && std::find(accepted.begin(), accepted.end(), token) != accepted.end();
  if (!repo || (options.is_private && !listed)) {
    return hub_error(kind ? 404 : 401, "RepoNotFound",
                     kind ? "Repository not found" : "Invalid username or password.");
  }
  if (options.disabled) return with_message(403, "Access to this resource is disabled.");
  if (options.gated.empty() || listed) return std::nullopt;

  const bool reads_content =
      route.action == "resolve" || route.action == "resolve-cache" || route.action == "auth-check";
  const bool lists = route.action == "tree" || route.action == "paths-info";
  if (!reads_content && !(lists && options.gated_tree)) return std::nullopt;
  const std::string name = options.type + " " + options.id;
  if (!kind) {
    return hub_error(401, "GatedRepo",
                     "Access to " + name +
                         " is restricted. You must have access to it and be "
                         "authenticated to access it. Please log in.");
  }
  if (kind == TestHub::TokenKind::no_gated_repos) {
    return with_message(
        403,
        "Please enable access to public gated repositories in your fine-grained token settings "
        "to view this repository.");
  }
  return hub_error(403, "GatedRepo",
                   "Access to " + name +
                       " is restricted and you are not in the authorized list. "
                       "Visit " +
                       state.endpoint + "/" + (options.type == "model" ? "" : options.type + "s/") +
                       options.id + " to ask for access.");
}

HttpResponse answer_hub(HubState& state, const HttpRequest& request, const Fault* fault) {
  if (const auto other = route_modelscope(request)) return answer_modelscope(state, request, *other);
  Headers common;
  const auto route = route_hub(request);
  const bool resolves = route && (route->action == "resolve" || route->action == "resolve-cache");
  HttpResponse response;
  if (!state.spend(resolves ? "resolvers" : "api", common)) {
    response = with_message(429, "We had to rate limit you. Please retry later.");
  } else if (request.raw_path() == "/api/whoami-v2") {
    const std::string token = bearer_of(request);
    response = with_message(401, "Invalid username or password.");
    if (state.token_kind(token)) {
      response = {.body = std::string{R"({"type":"user","name":"tester","auth":{"type":"access_token"}})"}};
      response.set("Content-Type", "application/json; charset=utf-8");
    }
  } else if (!route) {
    response = with_message(404, "Sorry, we can't find the page you are looking for.");
  } else {
    response = answer_route(state, request, *route, fault);
  }
  common.emplace_back("X-Request-Id", "Root=1-" + std::to_string(state.next_request_id++) + "-test");
  for (auto& header : common) response.headers.push_back(std::move(header));
  return response;
}

std::string file_of(Where where, const HttpRequest& request) {
  if (where == Where::cdn) return request.query_value("file");
  if (const auto other = route_modelscope(request)) return other->path;
  const auto route = route_hub(request);
  const bool resolves = route && (route->action == "resolve" || route->action == "resolve-cache");
  return resolves ? route->path : std::string{};
}

}  // namespace decant::test
