// SPDX-License-Identifier: Apache-2.0
// The same repos as ModelScope shows them: /api/v1/{models,datasets}/ORG/NAME/…, each JSON answer in an
// envelope.
#include <algorithm>
#include <charconv>
#include <set>

#include <nlohmann/json.hpp>

#include "support/hub/state.hpp"

namespace decant::test {
namespace {

using nlohmann::json;

constexpr std::size_t k_most_entries = 3000;  // of repo/files: silently
constexpr std::int64_t k_not_found = 10010205001;
constexpr std::int64_t k_bad_token = 10010103009;
constexpr std::int64_t k_no_access = 10010203001;
constexpr std::int64_t k_committed = 1'780'000'000;

HttpResponse json_answer(int status, const json& value) {
  HttpResponse response{.status = status, .body = value.dump(-1, ' ', false, json::error_handler_t::replace)};
  response.set("Content-Type", "application/json; charset=utf-8");
  return response;
}

HttpResponse wrapped(HubState& state, const json& data) {
  return json_answer(200, {{"Code", 200},
                           {"Data", data},
                           {"Message", "success"},
                           {"RequestId", "ms-" + std::to_string(state.next_request_id++)},
                           {"Success", true}});
}

HttpResponse error(HubState& state, int status, std::int64_t code, const std::string& message) {
  return json_answer(state.modelscope_errors_in_body ? 200 : status,
                     {{"Code", code},
                      {"Data", nullptr},
                      {"Message", message},
                      {"RequestId", "ms-" + std::to_string(state.next_request_id++)},
                      {"Success", false}});
}

std::string cookie_of(const HttpRequest& request, std::string_view name) {
  const std::string_view all = request.header("cookie");
  const std::string start = std::string{name} + "=";
  for (std::size_t at = 0; at < all.size();) {
    const auto end = std::min(all.find(';', at), all.size());
    std::string_view one = all.substr(at, end - at);
    one.remove_prefix(std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(start)) return std::string{one.substr(start.size())};
    at = end + 1;
  }
  return {};
}

// Either of the two ways in which its clients send a token; both must say the same.
std::optional<HttpResponse> check_token(HubState& state, const HttpRequest& request, const TestRepo* repo) {
  std::string bearer{request.header("authorization")};
  if (bearer.starts_with("Bearer ")) bearer.erase(0, 7);
  const std::string cookie = cookie_of(request, "m_session_id");
  const std::string token = cookie.empty() ? bearer : cookie;
  const bool contradict = !bearer.empty() && !cookie.empty() && bearer != cookie;
  if (contradict || (!token.empty() && !state.token_kind(token))) {
    return error(state, 401, k_bad_token, "AccessToken is invalid or expired");
  }
  const RepoOptions options = repo ? repo->options() : RepoOptions{};
  const auto& accepted = options.accepted_tokens;
  const bool listed = !token.empty() && std::find(accepted.begin(), accepted.end(), token) != accepted.end();
  if (!repo || (options.is_private && !listed)) return error(state, 404, k_not_found, "record not found");
  if (!options.gated.empty() && !listed) return error(state, 403, k_no_access, "no access to this resource");
  return std::nullopt;
}

json entry(const Commit& commit, const std::string& path, const HubObject* object) {
  const auto slash = path.rfind('/');
  json value{{"Name", slash == std::string::npos ? path : path.substr(slash + 1)},
             {"Path", path},
             {"Type", object ? "blob" : "tree"},
             {"Mode", object ? "33188" : "16384"},
             {"Size", object ? object->content.size() : 0},
             {"Sha256", object ? object->content.sha256() : ""},
             {"IsLFS", object && object->is_lfs()},
             {"Revision", commit.id},
             {"InCheck", false},
             {"CommittedDate", k_committed},
             {"CommitMessage", "Add files"},
             {"CommitterName", "tester"}};
  return value;
}

bool is_true(std::string_view text) {
  return text == "True" || text == "true" || text == "1";
}

// Directories and files below Root, in byte order of paths.
json entries_of(const HttpRequest& request, const Commit& commit) {
  std::string root = request.query_value("Root");
  while (root.starts_with('/')) root.erase(0, 1);
  if (!root.empty()) root += '/';
  const bool recursive = is_true(request.query_value("Recursive"));
  std::map<std::string, const HubObject*> all;
  for (const auto& [path, object] : commit.files) {
    if (!path.starts_with(root)) continue;
    bool direct = true;
    for (auto slash = path.find('/', root.size()); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      all.emplace(path.substr(0, slash), nullptr);
      direct = false;
      if (!recursive) break;
    }
    if (direct || recursive) all.emplace(path, &object);
  }
  json entries = json::array();
  for (const auto& [path, object] : all) entries.push_back(entry(commit, path, object));
  return entries;
}

std::size_t number_in(const HttpRequest& request, std::string_view name, std::size_t otherwise) {
  const std::string text = request.query_value(name);
  std::size_t number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::max<std::size_t>(number, 1);
}

json page_of(const HttpRequest& request, const json& entries) {
  const std::size_t size = number_in(request, "PageSize", 100);
  const std::size_t first = std::min((number_in(request, "PageNumber", 1) - 1) * size, entries.size());
  const std::size_t last = std::min(first + size, entries.size());
  return json(entries.begin() + static_cast<std::ptrdiff_t>(first),
              entries.begin() + static_cast<std::ptrdiff_t>(last));
}

HttpResponse download(HubState& state, const HttpRequest& request, const ModelScopeRoute& route,
                      const Commit& commit) {
  const auto found = commit.files.find(route.path);
  if (found == commit.files.end()) return error(state, 404, k_not_found, "file not found");
  const HubObject& object = found->second;
  if (!object.is_lfs()) return serve_content(request, object.content, "\"" + object.oid + "\"");
  HttpResponse response{.status = 302};
  response.set("Location", signed_url(state, route.id, route.path, object));
  return response;
}

}  // namespace

std::optional<ModelScopeRoute> route_modelscope(const HttpRequest& request) {
  const auto s = request.path_segments();
  if (s.size() < 5 || s[0] != "api" || s[1] != "v1" || (s[2] != "models" && s[2] != "datasets")) {
    return std::nullopt;
  }
  ModelScopeRoute route{.collection = s[2], .id = s[3] + "/" + s[4]};
  for (std::size_t i = 5; i < s.size(); ++i) route.action += (i > 5 ? "/" : "") + s[i];
  route.revision = "master";
  for (auto& [name, value] : parse_form(request.raw_query())) {
    if (name == "Revision" && !value.empty()) route.revision = value;
    if (name == "FilePath" && route.action == "repo") route.path = std::move(value);
  }
  return route;
}

HttpResponse answer_modelscope(HubState& state, const HttpRequest& request, const ModelScopeRoute& route) {
  const auto repo = state.find_repo(route.collection, route.id);
  if (auto refusal = check_token(state, request, repo.get())) return std::move(*refusal);
  auto commit = repo->find_commit(route.revision);
  if (!commit && route.revision == "master") commit = repo->find_commit("main");
  if (!commit) return error(state, 404, k_not_found, "has no revision: " + route.revision);
  if (route.action == "repo") return download(state, request, route, *commit);
  json entries = entries_of(request, *commit);
  if (route.action == "repo/tree" && route.collection == "datasets") {
    return wrapped(state, {{"Files", page_of(request, entries)}, {"TotalCount", entries.size()}});
  }
  if (route.action == "repo/files" && route.collection == "models") {
    if (entries.size() > k_most_entries) entries.erase(entries.begin() + k_most_entries, entries.end());
    return wrapped(state, {{"Files", entries}});
  }
  if (route.action == "revisions") {
    const json master{{"Revision", "master"}, {"CreatedAt", k_committed}};
    return wrapped(state, {{"RevisionMap", {{"Branches", {master}}, {"Tags", json::array()}}}});
  }
  if (route.action.empty()) {
    return wrapped(state, {{"Id", 1}, {"Name", route.id.substr(route.id.find('/') + 1)}, {"Path", route.id}});
  }
  return error(state, 404, k_not_found, "no such interface");
}

}  // namespace decant::test
