// SPDX-License-Identifier: Apache-2.0
#include "decant/model/lock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "decant/base/bytes.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"
#include "decant/model/json.hpp"
#include "decant/model/manifest.hpp"
#include "node.hpp"
#include "path_text.hpp"
#include "strict_json.hpp"

namespace decant::model {
namespace {

constexpr std::string_view k_schema_stem = "decant.lock/";
// The text up to the digest's value. It stands first, so that the value is found without searching.
constexpr std::string_view k_before_digest = "{\n  \"schema\": \"decant.lock/1\",\n  \"digest\": \"";
constexpr std::string_view k_hint =
    "take the lock from another node, or remove it and .decant/: files stay, identical ones are adopted";
constexpr std::size_t k_xet_hex = 64;

std::string_view to_string(ManifestOrigin origin) {
  switch (origin) {
    case ManifestOrigin::repo:
      return "repo";
    case ManifestOrigin::local:
      return "local";
    case ManifestOrigin::none:
      return "none";
  }
  return "none";
}

// Key and value of a digest: `"sha256": "…"`.
std::string digest_member(const hash::Digest& digest) {
  return fmt::format("\"{}\": \"{}\"", hash::to_string(digest.algorithm()), digest.hex());
}

void append_part(const LockPart& part, std::string& out) {
  // A loose file is called by its path; writing that twice would double a long lock.
  if (part.name == part.path.str()) {
    out += "{";
  } else {
    fmt::format_to(std::back_inserter(out), "{{\"name\": {}, ", json_quote(part.name));
  }
  fmt::format_to(std::back_inserter(out), "{}, \"size\": {}, {}", byte_member("path", part.path.str(), ": "),
                 part.size, digest_member(part.digest));
  if (!part.xet_hash.empty())
    fmt::format_to(std::back_inserter(out), ", \"xet\": {}", json_quote(part.xet_hash));
  out += '}';
}

// Everything behind the digest's value.
std::string text_after_digest(const RestoreLock& lock) {
  const LockSource& source = lock.source;
  std::string out = fmt::format(
      "\",\n"
      "  \"tool_version\": {},\n"
      "  \"source\": {{\n"
      "    \"kind\": \"{}\",\n"
      "    \"endpoint\": {},\n"
      "    \"repo_type\": \"{}\",\n"
      "    \"repo\": {},\n"
      "{}"
      "    \"requested_revision\": {},\n"
      "    \"commit\": {}\n"
      "  }},\n",
      json_quote(lock.tool_version), to_string(source.kind), json_quote(source.endpoint),
      to_string(source.repo_type), json_quote(source.repo),
      source.requested_repo.empty()
          ? std::string{}
          : fmt::format("    \"requested_repo\": {},\n", json_quote(source.requested_repo)),
      json_quote(source.requested_revision), json_quote(source.commit));
  fmt::format_to(std::back_inserter(out),
                 "  {},\n"
                 "  \"release_id\": {},\n"
                 "  \"manifest\": {{\"origin\": \"{}\", \"size\": {}, \"sha256\": \"{}\"}},\n"
                 "  \"parts\": [",
                 byte_member("release_path", lock.release_path.str(), ": "), json_quote(lock.release_id),
                 to_string(lock.manifest_origin), lock.manifest_size, lock.manifest_sha256.hex());
  for (std::size_t i = 0; i < lock.parts.size(); ++i) {
    out += i == 0 ? "\n    " : ",\n    ";
    append_part(lock.parts[i], out);
  }
  out += lock.parts.empty() ? "]\n}\n" : "\n  ]\n}\n";
  return out;
}

hash::Digest digest_of(std::string_view after_digest) {
  hash::Hasher hasher;
  hasher.update(as_bytes(k_before_digest));
  hasher.update(as_bytes(after_digest));
  return hasher.finish();
}

void check_schema(const Node& top) {
  const auto node = top.find("schema");
  const auto* schema = node ? node->value().get<std::string>() : nullptr;
  if (schema && *schema == k_lock_schema) return;
  const std::string found = node ? describe(node->value()) : "no schema";
  const std::string expected = fmt::format("schema \"{}\"", k_lock_schema);
  if (schema && schema->starts_with(k_schema_stem)) {
    const auto major = parse_u64(std::string_view{*schema}.substr(k_schema_stem.size()));
    if (major && *major > 1)
      top.refuse("the lock is too new for this decant", expected, found, "use a newer decant");
  }
  top.refuse("not a restore lock", expected, found);
}

void check_digest(const Node& top, std::string_view text) {
  const hash::Digest stated = top.require("digest", "the lock's own SHA-256").digest();
  if (!text.starts_with(k_before_digest)) {
    top.refuse("the lock was edited or cut", "schema and digest at its start, as decant writes them",
               "another text");
  }
  const hash::Digest actual = digest_of(text.substr(k_before_digest.size() + stated.hex().size()));
  if (actual != stated) top.refuse("the lock was edited or damaged", "digest " + stated.hex(), actual.hex());
}

template <class Enum>
Enum one_of(const Node& node, std::initializer_list<std::pair<std::string_view, Enum>> words) {
  std::string expected;
  for (const auto& [word, value] : words) {
    if (node.text() == word) return value;
    expected += (expected.empty() ? "" : ", ") + std::string{word};
  }
  node.fail("one of " + expected);
}

LockSource read_source(const Node& node) {
  LockSource source;
  source.kind = one_of<SourceKind>(
      node.require("kind", "the kind of source"),
      {{"hub", SourceKind::hub}, {"directory", SourceKind::directory}, {"mirror", SourceKind::mirror}});
  source.repo_type = one_of<RepoType>(node.require("repo_type", "dataset or model"),
                                      {{"dataset", RepoType::dataset}, {"model", RepoType::model}});
  const Node endpoint = node.require("endpoint", "scheme, host and port");
  const Node repo = node.require("repo", "ORG/NAME");
  const Node commit = node.require("commit", "a commit id");
  source.endpoint = endpoint.text();
  source.repo = repo.text();
  if (const auto asked = node.find("requested_repo")) source.requested_repo = asked->text();
  source.requested_revision = node.require("requested_revision", "a revision").text();
  source.commit = commit.text();
  if (source.endpoint.find('@') != std::string::npos) endpoint.fail("no credentials in it", "an @");
  if (source.kind == SourceKind::hub) {
    endpoint.line_text();
    repo.line_text();
    if (!is_commit_id(source.commit)) commit.fail("40 lower-case hexadecimal digits");
  }
  return source;
}

LockPart read_part(Node& node) {
  LockPart part;
  part.path = read_path(node.object(), "path");
  const auto name = node.find("name");
  part.name = name ? name->line_text() : part.path.str();
  part.size = node.require("size", "the part's size in bytes").size_number();
  const auto git = node.find("git-sha1");
  part.digest =
      git ? git->digest(hash::Algorithm::git_sha1) : node.require("sha256", "the part's digest").digest();
  if (const auto xet = node.find("xet")) {
    part.xet_hash = xet->text();
    if (part.xet_hash.size() != k_xet_hex) xet->fail("64 hexadecimal digits");
  }
  return part;
}

}  // namespace

std::string_view to_string(SourceKind kind) noexcept {
  switch (kind) {
    case SourceKind::hub:
      return "hub";
    case SourceKind::directory:
      return "directory";
    case SourceKind::mirror:
      return "mirror";
  }
  return "hub";
}

std::string_view to_string(RepoType type) noexcept {
  return type == RepoType::model ? "model" : "dataset";
}

std::string to_json(const RestoreLock& lock) {
  const std::string after = text_after_digest(lock);
  return std::string{k_before_digest} + digest_of(after).hex() + after;
}

hash::Digest lock_digest(const RestoreLock& lock) {
  return digest_of(text_after_digest(lock));
}

RestoreLock parse_lock(std::string_view json, std::string_view origin) {
  const TextOrigin text_origin{.name = origin, .hint = k_hint};
  const Value value = parse_json(json, text_origin);
  const Node top{value, text_origin};
  top.object();
  check_schema(top);
  check_digest(top, json);

  RestoreLock lock;
  lock.tool_version = top.require("tool_version", "the version of decant that wrote it").text();
  const Node source = top.require("source", "an object");
  lock.source = read_source(source.object());
  lock.release_path = read_path_or_root(top, "release_path");
  lock.release_id = top.require("release_id", "the release's id").text();
  const Node manifest = top.require("manifest", "an object");
  lock.manifest_origin = one_of<ManifestOrigin>(
      manifest.require("origin", "repo, local or none"),
      {{"repo", ManifestOrigin::repo}, {"local", ManifestOrigin::local}, {"none", ManifestOrigin::none}});
  lock.manifest_size = manifest.require("size", "the manifest's size").size_number();
  lock.manifest_sha256 = manifest.require("sha256", "the manifest's SHA-256").digest();
  std::set<std::string, std::less<>> names;
  top.require("parts", "a list of parts").each([&](Node& node) {
    lock.parts.push_back(read_part(node));
    if (!names.insert(lock.parts.back().name).second) {
      node.fail("each part once", escape_for_display(lock.parts.back().name) + " twice");
    }
  });
  return lock;
}

hash::Digest loose_identity(const std::vector<LockPart>& parts) {
  std::vector<const LockPart*> sorted;
  sorted.reserve(parts.size());
  for (const LockPart& part : parts) sorted.push_back(&part);
  std::sort(sorted.begin(), sorted.end(),
            [](const LockPart* a, const LockPart* b) { return a->path < b->path; });
  hash::Hasher hasher;
  for (const LockPart* part : sorted) {
    hasher.update(as_bytes(fmt::format("{} {} {} {}\n", part->size, hash::to_string(part->digest.algorithm()),
                                       part->digest.hex(), part->path.str())));
  }
  return hasher.finish();
}

bool is_commit_id(std::string_view text) {
  constexpr std::size_t k_digits = 40;
  return text.size() == k_digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace decant::model
