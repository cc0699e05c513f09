// SPDX-License-Identifier: Apache-2.0
// The JSON half of the hub: info, refs, tree, paths-info, auth-check, xet-read-token.
#include <algorithm>
#include <charconv>
#include <set>

#include <nlohmann/json.hpp>

#include "support/hub/state.hpp"

namespace decant::test {
namespace {

using nlohmann::json;

constexpr std::size_t k_max_form_fields = 1000;
constexpr std::string_view k_date = "2026-06-01T00:00:00.000Z";

HttpResponse json_answer(const json& value) {
  HttpResponse response{.body = value.dump(-1, ' ', false, json::error_handler_t::replace)};
  response.set("Content-Type", "application/json; charset=utf-8");
  return response;
}

HttpResponse no_revision(const std::string& revision) {
  return hub_error(404, "RevisionNotFound", "Invalid rev id: " + revision);
}

bool is_true(std::string_view text) {
  return text == "true" || text == "True" || text == "1";
}

std::string tree_id(const Commit& commit, const std::string& path) {
  return git_blob_id(commit.id + " " + path);
}

void add_expanded(json& entry, const Commit& commit) {
  entry["lastCommit"] = {{"id", commit.id}, {"title", "Add files"}, {"date", k_date}};
  if (entry["type"] == "file") {
    entry["securityFileStatus"] = {
        {"status", "safe"},
        {"avScan", {{"status", "safe"}}},
        {"pickleImportScan", {{"status", "unscanned"}, {"pickleImports", json::array()}}}};
  }
}

json file_entry(const std::string& path, const HubObject& object) {
  json entry{{"type", "file"}, {"oid", object.oid}, {"size", object.content.size()}, {"path", path}};
  if (object.is_lfs()) {
    entry["lfs"] = {
        {"oid", object.sha256}, {"size", object.content.size()}, {"pointerSize", object.pointer_size}};
  }
  if (object.store == Store::xet) entry["xetHash"] = object.xet_hash;
  return entry;
}

json directory_entry(const Commit& commit, const std::string& path) {
  return {{"type", "directory"}, {"oid", tree_id(commit, path)}, {"size", 0}, {"path", path}};
}

// All below `root` ("" is the whole repo): directories, then files, each in byte order of paths.
std::vector<std::string> list_paths(const Commit& commit, const std::string& root, bool recursive) {
  const std::string prefix = root.empty() ? "" : root + "/";
  std::set<std::string> directories;
  std::vector<std::string> files;
  for (const auto& [path, object] : commit.files) {
    if (!path.starts_with(prefix)) continue;
    bool direct = true;
    for (auto slash = path.find('/', prefix.size()); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      directories.insert(path.substr(0, slash));
      direct = false;
      if (!recursive) break;
    }
    if (direct || recursive) files.push_back(path);
  }
  std::vector<std::string> all{directories.begin(), directories.end()};
  all.insert(all.end(), files.begin(), files.end());
  return all;
}

json entry_of(const Commit& commit, const std::string& path, bool expand) {
  const auto file = commit.files.find(path);
  json entry = file == commit.files.end() ? directory_entry(commit, path) : file_entry(path, file->second);
  if (expand) add_expanded(entry, commit);
  return entry;
}

HttpResponse answer_tree(HubState& state, const HttpRequest& request, const HubRoute& route,
                         const Commit& commit) {
  const bool expand = is_true(request.query_value("expand"));
  const auto paths = list_paths(commit, route.path, is_true(request.query_value("recursive")));
  if (paths.empty() && !route.path.empty())
    return hub_error(404, "EntryNotFound", route.path + " does not exist");

  // The cursor needs encoding in a query and is opaque, as the real one is.
  constexpr std::string_view cursor_prefix = "at:";
  const std::string cursor = request.query_value("cursor");
  std::size_t first = 0;
  if (cursor.starts_with(cursor_prefix)) {
    std::from_chars(cursor.data() + cursor_prefix.size(), cursor.data() + cursor.size(), first);
  }
  std::size_t page = state.page_size;
  if (page == 0) page = expand ? 50 : 1000;
  first = std::min(first, paths.size());
  const std::size_t last = std::min(first + page, paths.size());
  json entries = json::array();
  for (std::size_t i = first; i < last; ++i) entries.push_back(entry_of(commit, paths[i], expand));
  HttpResponse response = json_answer(entries);
  if (last < paths.size()) {
    std::string query;
    for (const auto& [name, value] : request.query()) {
      if (name != "cursor") query += percent_encode_all(name) + "=" + percent_encode_all(value) + "&";
    }
    query += "cursor=" + percent_encode_all(std::string{cursor_prefix} + std::to_string(last) + "==");
    response.set("Link", "<" + state.page_origin() + std::string{request.raw_path()} + "?" + query +
                             ">; rel=\"next\"");
  }
  return response;
}

HttpResponse answer_paths_info(const HttpRequest& request, const Commit& commit) {
  std::vector<std::string> paths;
  bool expand = false;
  if (request.header("content-type").starts_with("application/json")) {
    const json body = json::parse(request.body, nullptr, false);
    if (!body.is_object() || !body.contains("paths") || !body["paths"].is_array()) {
      return hub_error(400, "", "paths: expected an array of strings");
    }
    for (const json& path : body["paths"]) paths.push_back(path.is_string() ? path.get<std::string>() : "");
    expand = body.value("expand", false);
  } else {
    const auto fields = parse_form(request.body);
    if (fields.size() > k_max_form_fields) return hub_error(413, "", "too many parameters");
    for (const auto& [name, value] : fields) {
      if (name == "paths") paths.push_back(value);
      if (name == "expand") expand = is_true(value);
    }
  }
  json entries = json::array();
  for (const std::string& path : paths) {
    const bool exists = commit.files.contains(path) || !list_paths(commit, path, false).empty();
    if (exists && !path.empty()) entries.push_back(entry_of(commit, path, expand));
  }
  return json_answer(entries);
}

HttpResponse answer_info(const HttpRequest& request, const RepoOptions& options, const Commit& commit) {
  const bool blobs = is_true(request.query_value("blobs"));
  json siblings = json::array();
  for (const auto& [path, object] : commit.files) {
    json sibling{{"rfilename", path}};
    if (blobs) {
      sibling["size"] = object.content.size();
      sibling["blobId"] = object.oid;
      if (object.is_lfs()) {
        sibling["lfs"] = {
            {"sha256", object.sha256}, {"size", object.content.size()}, {"pointerSize", object.pointer_size}};
      }
    }
    siblings.push_back(std::move(sibling));
  }
  json info{{"_id", git_blob_id(options.id).substr(0, 24)},
            {"id", options.id},
            {"author", options.id.substr(0, options.id.find('/'))},
            {"sha", commit.id},
            {"lastModified", k_date},
            {"createdAt", k_date},
            {"private", options.is_private},
            {"gated", options.gated.empty() ? json(false) : json(options.gated)},
            {"disabled", options.disabled},
            {"tags", json::array()},
            {"downloads", 0},
            {"likes", 0},
            {"siblings", std::move(siblings)}};
  if (options.type == "model") info["modelId"] = options.id;
  return json_answer(info);
}

HttpResponse answer_refs(const TestRepo& repo) {
  json branches = json::array();
  for (const auto& [name, commit] : repo.refs()) {
    branches.push_back({{"name", name}, {"ref", "refs/heads/" + name}, {"targetCommit", commit}});
  }
  return json_answer({{"branches", branches}, {"tags", json::array()}, {"converts", json::array()}});
}

}  // namespace

HttpResponse answer_api(HubState& state, const HttpRequest& request, const HubRoute& route,
                        const TestRepo& repo) {
  if (route.action == "refs") return answer_refs(repo);
  if (route.action == "auth-check") return json_answer(json::object());
  const auto commit = repo.find_commit(route.revision == "HEAD" ? "main" : route.revision);
  const bool posts = route.action == "paths-info";
  if (posts ? request.method != "POST" : request.method != "GET" && request.method != "HEAD") {
    return hub_error(405, "", "Method not allowed");
  }
  HttpResponse response;
  if (!commit) {
    response = no_revision(route.revision);
  } else if (route.action == "info" || route.action == "revision") {
    response = answer_info(request, repo.options(), *commit);
  } else if (route.action == "tree") {
    response = answer_tree(state, request, route, *commit);
  } else if (posts) {
    response = answer_paths_info(request, *commit);
  } else if (route.action == "xet-read-token") {
    response = json_answer({{"accessToken", "xet_" + commit->id.substr(0, 16)},
                            {"exp", state.now() + 900},
                            {"casUrl", state.cdn_origin}});
  } else {
    response = hub_error(404, "", "Sorry, we can't find the page you are looking for.");
  }
  return response;
}

}  // namespace decant::test
