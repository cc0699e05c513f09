// SPDX-License-Identifier: Apache-2.0
#include "decant/model/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "decant/base/bytes.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "manifest_checks.hpp"
#include "node.hpp"
#include "strict_json.hpp"

namespace decant::model {
namespace {

constexpr std::string_view k_schema_stem = "decant.release/";
constexpr std::string_view k_hint_repo =
    "tell the release's author; a corrected manifest over the same commit can be given with --manifest FILE";
constexpr std::string_view k_hint_local = "correct the file that --manifest names";
constexpr std::uint64_t k_min_window_log = 10;
constexpr std::uint64_t k_max_window_log = 31;

class Parser {
 public:
  Parser(Completeness completeness, const TextOrigin& origin)
      : completeness_{completeness}, origin_{origin} {}
  ReleaseManifest parse(const Value& top);

 private:
  void check_schema(const Node& top) const;
  void check_requires(const Node& top) const;
  void add_root(Node& node);
  void add_part(Node& node);
  void add_tree(Node& node);
  void add_closed(Node& node);
  void add_check(Node& node);
  void check_claims(const Node& top) const;

  FileRef file_ref(const Node& node) const;
  void read_unpack(const Node& node, PartSpec& part) const;
  void read_place(const Node& node, PartSpec& part) const;
  void read_external(const Node& node, TreeSpec& tree) const;
  std::string known_root(const Node& node) const;

  Completeness completeness_;
  const TextOrigin& origin_;
  ReleaseManifest manifest_;
  std::set<std::string> known_roots_{"bundle"};
};

FileRef Parser::file_ref(const Node& node) const {
  FileRef ref;
  ref.path = node.require("path", "a path from the repo's root").file_path();
  const bool may_lack = completeness_ == Completeness::may_lack_digests;
  if (const auto size = node.find("size")) {
    ref.size = size->size_number();
  } else if (!may_lack) {
    node.require("size", "the file's size in bytes");
  }
  if (const auto digest = node.find("sha256")) {
    ref.digest = digest->digest();
  } else if (!may_lack) {
    node.require("sha256", "the file's SHA-256, 64 hexadecimal digits");
  }
  return ref;
}

fs::RelPath optional_path(const Node& node, std::string_view key) {
  const auto child = node.find(key);
  return child ? child->path() : fs::RelPath{};
}

bool optional_flag(const Node& node, std::string_view key) {
  const auto child = node.find(key);
  return child && child->boolean();
}

// Archives may not bring such names either (rule S2).
void refuse_control_characters(const Node& node, const fs::RelPath& path) {
  if (has_control_characters(path.str())) node.fail("a path without control characters");
}

void Parser::read_unpack(const Node& node, PartSpec& part) const {
  part.kind = PartKind::unpack;
  part.root = node.require("root", "the name of a root").name();
  part.under = optional_path(node, "under");
  refuse_control_characters(node, part.under);
  if (is_reserved(part.root, part.under)) {
    node.require("under", "").fail("a directory that decant does not keep for itself");
  }
  if (const auto entries = node.find("entries")) part.entries = entries->size_number();
  if (const auto bytes = node.find("bytes")) part.bytes = bytes->size_number();
  if (const auto window = node.find("window_log")) {
    const std::uint64_t log = window->size_number();
    if (log < k_min_window_log || log > k_max_window_log) {
      window->fail(fmt::format("a whole number from {} to {}", k_min_window_log, k_max_window_log));
    }
    part.window_log = static_cast<int>(log);
  }
}

void Parser::read_place(const Node& node, PartSpec& part) const {
  part.kind = PartKind::place;
  part.root = node.require("root", "the name of a root").name();
  const Node as = node.require("as", "the path of the file below the root");
  part.as = as.file_path();
  refuse_control_characters(as, part.as);
  if (is_reserved(part.root, part.as)) as.fail("a path that decant does not keep for itself");
}

Accept accept_word(const Node& node) {
  const std::string& word = node.text();
  if (word == "dup-identical") return Accept::dup_identical;
  if (word == "non-utf8") return Accept::non_utf8;
  if (word == "setid-files") return Accept::setid_files;
  node.fail("dup-identical, non-utf8 or setid-files");
}

LinkPolicy link_policy(const Node& node) {
  const std::string& word = node.text();
  if (word == "inside-only") return LinkPolicy::inside_only;
  if (word == "allow-external") return LinkPolicy::allow_external;
  node.fail("inside-only or allow-external");
}

void Parser::add_part(Node& node) {
  PartSpec part;
  part.name = node.object().require("name", "the part's name").name();
  node.set_label("part " + part.name);
  if (manifest_.find_part(part.name)) node.refuse("the name stands twice", "each name once", part.name);
  part.file = file_ref(node);
  const auto unpack = node.find("unpack");
  const auto place = node.find("place");
  if (unpack.has_value() == place.has_value()) {
    node.fail("either unpack or place", unpack ? "both" : "neither");
  }
  if (unpack) read_unpack(*unpack, part);
  if (place) read_place(*place, part);
  if (const auto links = node.find("links")) part.links = link_policy(*links);
  if (const auto accept = node.find("accept")) {
    accept->each([&](const Node& word) { part.accept.insert(accept_word(word)); });
  }
  if (const auto tags = node.find("tags")) {
    tags->each([&](const Node& tag) { part.tags.insert(tag.name()); });
  }
  if (const auto index = node.find("index")) part.index = file_ref(*index);
  if (const auto names = node.find("names")) part.names = file_ref(*names);
  known_roots_.insert(part.root);
  manifest_.parts.push_back(std::move(part));
}

void Parser::add_root(Node& node) {
  RootSpec root;
  const Node name = node.object().require("name", "the root's name");
  root.name = name.name();
  if (manifest_.find_root(root.name)) name.fail("each root once");
  node.set_label("root " + root.name);
  if (const auto suggest = node.find("suggest")) root.suggest = suggest->line_text();
  root.inside_bundle = optional_flag(node, "inside_bundle");
  if (is_reserved("bundle", fs::RelPath::require(root.name, "root"))) {
    name.fail("a name that decant does not keep for itself");
  }
  known_roots_.insert(root.name);
  manifest_.roots.push_back(std::move(root));
}

std::string Parser::known_root(const Node& node) const {
  const Node root = node.require("root", "the name of a root");
  std::string name = root.name();
  if (!known_roots_.contains(name)) {
    std::string known;
    for (const std::string& other : known_roots_) known += (known.empty() ? "" : ", ") + other;
    root.fail("a root that the manifest knows: " + known);
  }
  return name;
}

void Parser::read_external(const Node& node, TreeSpec& tree) const {
  const auto files = node.find("files");
  const auto list = node.find("files_list");
  if (files.has_value() == list.has_value()) {
    node.fail("either files or files_list", files ? "both" : "neither");
  }
  if (list) tree.files_list = file_ref(*list);
  if (files) {
    Claims claims;
    files->each([&](const Node& item) {
      TreeFile file;
      const Node path = item.object().require("path", "a path below the tree");
      file.path = path.file_path();
      if (const auto size = item.find("size")) file.size = size->size_number();
      file.digest = item.require("sha256", "the file's SHA-256, 64 hexadecimal digits").digest();
      file.optional = optional_flag(item, "optional");
      const std::string shown = escape_for_display(file.path.str());
      const std::string clash = claims.file(tree.name, file.path, "file " + shown);
      if (!clash.empty())
        path.fail("each file once, and none where another needs a directory", shown + ": " + clash);
      tree.files.push_back(std::move(file));
    });
  }
  const auto from = node.find("from");
  if (!from) return;
  tree.from_repo = from->require("repo", "ORG/NAME").line_text();
  tree.from_repo_type = "model";
  if (const auto type = from->find("repo_type")) {
    tree.from_repo_type = type->text();
    if (tree.from_repo_type != "model" && tree.from_repo_type != "dataset") type->fail("model or dataset");
  }
  if (const auto revision = from->find("revision")) tree.from_revision = revision->line_text();
}

void Parser::add_tree(Node& node) {
  TreeSpec tree;
  const Node name = node.object().require("name", "the tree's name");
  tree.name = name.name();
  const auto same = [&](const TreeSpec& other) { return other.name == tree.name; };
  if (std::any_of(manifest_.trees.begin(), manifest_.trees.end(), same)) name.fail("each tree once");
  node.set_label("tree " + tree.name);
  tree.external = optional_flag(node, "external");
  if (tree.external) {
    read_external(node, tree);
  } else {
    tree.root = known_root(node);
    tree.under = optional_path(node, "under");
  }
  manifest_.trees.push_back(std::move(tree));
}

void Parser::add_closed(Node& node) {
  ClosedDir dir;
  dir.root = known_root(node.object());
  dir.under = optional_path(node, "under");
  manifest_.closed.push_back(std::move(dir));
}

void Parser::add_check(Node& node) {
  CheckSpec check;
  const Node id = node.object().require("id", "the check's id");
  check.id = id.name();
  const auto same = [&](const CheckSpec& other) { return other.id == check.id; };
  if (std::any_of(manifest_.checks.begin(), manifest_.checks.end(), same)) id.fail("each id once");
  node.set_label("check " + check.id);
  check.type = node.require("type", "the check's type").name();
  check.json = to_text(node.value());
  manifest_.checks.push_back(std::move(check));
}

void Parser::check_schema(const Node& top) const {
  const auto node = top.find("schema");
  const auto* schema = node ? node->value().get<std::string>() : nullptr;
  if (schema && *schema == k_manifest_schema) return;
  const std::string found = node ? describe(node->value()) : "no schema";
  if (schema && schema->starts_with(k_schema_stem)) {
    const auto major = parse_u64(std::string_view{*schema}.substr(k_schema_stem.size()));
    if (major && *major > 1) {
      top.refuse("the manifest is too new for this decant", fmt::format("\"{}\"", k_manifest_schema), found,
                 "use a newer decant");
    }
  }
  top.refuse("not a manifest that decant knows", fmt::format("schema \"{}\"", k_manifest_schema), found,
             "give a decant manifest over the same commit with --manifest FILE");
}

void Parser::check_requires(const Node& top) const {
  const auto list = top.find("requires");
  if (!list) return;
  list->each([](const Node& entry) {
    entry.refuse("the release requires something that this decant does not know",
                 "nothing beyond \"decant.release/1\"", "\"" + escape_for_display(entry.text()) + "\"",
                 "use a newer decant");
  });
}

void Parser::check_claims(const Node& top) const {
  Claims claims;
  for (const PartSpec& part : manifest_.parts) {
    const bool place = part.kind == PartKind::place;
    const fs::RelPath& path = place ? part.as : part.under;
    const std::string owner = "part " + part.name;
    const std::string clash =
        place ? claims.file(part.root, path, owner) : claims.directory(part.root, path, owner);
    if (clash.empty()) continue;
    top.refuse(fmt::format("{}: {} {} in root {} is taken", owner, place ? "place.as" : "unpack.under",
                           escape_for_display(path.str()), part.root),
               "no two parts that claim one file", clash);
  }
}

ReleaseManifest Parser::parse(const Value& value) {
  const Node top{value, origin_};
  top.object();
  check_schema(top);
  check_requires(top);
  const Node release = top.require("release", "an object with the release's id");
  manifest_.release_id = release.require("id", "the release's id").line_text();
  const auto each = [&](std::string_view key, void (Parser::*add)(Node&)) {
    if (const auto list = top.find(key)) list->each([&](Node& node) { (this->*add)(node); });
  };
  each("roots", &Parser::add_root);
  top.require("parts", "a list of parts").each([&](Node& node) { add_part(node); });
  each("trees", &Parser::add_tree);
  each("closed", &Parser::add_closed);
  each("checks", &Parser::add_check);
  if (manifest_.parts.empty() && manifest_.trees.empty()) {
    top.refuse("nothing to restore or prove", "a part or a tree", "an empty list of parts");
  }
  check_claims(top);
  return std::move(manifest_);
}

// Listens for one string at the top level and ends the parse there.
class SchemaPeek {
 public:
  std::string take() { return std::move(schema_); }

  bool null() { return plain(); }
  bool boolean(bool /*value*/) { return plain(); }
  bool number_integer(std::int64_t /*value*/) { return plain(); }
  bool number_unsigned(std::uint64_t /*value*/) { return plain(); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return plain(); }
  bool string(std::string& value) {
    if (depth_ == 1 && wanted_) {
      schema_ = std::move(value);
      return false;
    }
    return plain();
  }
  bool binary(nlohmann::json::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*count*/) { return ++depth_ <= k_json_max_depth; }
  // A list at the top has no keys; its objects stand deeper than the one that is asked for.
  bool start_array(std::size_t /*count*/) { return depth_ > 0 && ++depth_ <= k_json_max_depth; }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(const std::string& key) {
    wanted_ = key == "schema";
    return true;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) {
    return false;
  }

 private:
  bool plain() const { return depth_ > 0; }
  bool close() {
    --depth_;
    return true;
  }
  std::size_t depth_ = 0;
  bool wanted_ = false;
  std::string schema_;
};

}  // namespace

ReleaseManifest parse_manifest(std::string_view json, std::string_view origin, Completeness completeness) {
  const TextOrigin text_origin{.name = origin,
                               .hint = completeness == Completeness::full ? k_hint_repo : k_hint_local};
  if (json.size() > k_manifest_max_bytes) {
    throw Error{Problem{.kind = ErrorKind::state,
                        .thing = escape_for_display(origin) + ": the manifest is too large",
                        .expected = fmt::format("at most {} bytes", k_manifest_max_bytes),
                        .found = fmt::format("{} bytes", json.size()),
                        .hint = "name long file lists as pinned lists of their own"}};
  }
  return Parser{completeness, text_origin}.parse(parse_json(json, text_origin));
}

std::string peek_schema(std::string_view json) noexcept {
  try {
    SchemaPeek peek;
    nlohmann::json::sax_parse(json.begin(), json.end(), &peek);
    return peek.take();
  } catch (...) {
    return {};
  }
}

}  // namespace decant::model
