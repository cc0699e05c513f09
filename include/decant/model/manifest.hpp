// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "decant/fs/rel_path.hpp"
#include "decant/hash/digest.hpp"

namespace decant::model {

inline constexpr std::string_view k_manifest_schema = "decant.release/1";
inline constexpr std::string_view k_manifest_name = "release_manifest.json";
inline constexpr std::uint64_t k_manifest_max_bytes = 256ULL << 20;
// The largest size a manifest, lock or index may state: 2^63 - 1 bytes.
inline constexpr std::uint64_t k_max_size = (1ULL << 63) - 1;

// A file of the repo, named with what proves it.
struct FileRef {
  fs::RelPath path;  // from the repo's root
  std::optional<std::uint64_t> size;
  std::optional<hash::Digest> digest;
};

enum class PartKind {
  unpack,  // a tar.zst archive that unpacks below root/under
  place,   // one file that becomes root/as
  files,   // loose files below root; only made by loose_manifest()
};

enum class LinkPolicy { inside_only, allow_external };

// Refusals that a part lifts, each exactly one (product: `accept`).
enum class Accept { dup_identical, non_utf8, setid_files };

// One loose file: where it is in the repo and where it goes.
struct LooseFile {
  fs::RelPath repo_path;
  fs::RelPath path;  // below the part's root
  std::uint64_t size = 0;
  hash::Digest digest;
};

struct PartSpec {
  std::string name;
  PartKind kind = PartKind::unpack;
  FileRef file;       // unpack and place; size and digest may be missing in a --manifest file until completed
  std::string root;   // "bundle", "runtime", …
  fs::RelPath under;  // unpack, files: directory below the root
  fs::RelPath as;     // place: path below the root
  LinkPolicy links = LinkPolicy::inside_only;
  std::set<Accept> accept;
  std::set<std::string> tags;
  std::optional<FileRef> index;          // pinned part index
  std::optional<FileRef> names;          // pinned list of paths, one a line
  std::optional<std::uint64_t> entries;  // unpack: number of archive entries
  std::optional<std::uint64_t> bytes;    // unpack: sum of file sizes
  std::optional<int> window_log;
  std::vector<LooseFile> files;  // kind files, sorted by path
  bool is_media() const { return tags.contains("media"); }
};

struct RootSpec {
  std::string name;
  std::string suggest;         // shown, never used
  bool inside_bundle = false;  // may be a folder of its name inside the bundle when nobody gives it
};

// A file of an external tree.
struct TreeFile {
  fs::RelPath path;
  std::optional<std::uint64_t> size;  // may be left out: the digest decides
  hash::Digest digest;
  bool optional = false;
};

struct TreeSpec {
  std::string name;
  bool external = false;
  std::string root;                   // internal
  fs::RelPath under;                  // internal
  std::vector<TreeFile> files;        // external
  std::optional<FileRef> files_list;  // external: a pinned list instead
  std::string from_repo, from_repo_type, from_revision;
};

struct ClosedDir {
  std::string root;
  fs::RelPath under;
};

// A check beyond hashes, kept as it stands until the inspectors that know its type.
struct CheckSpec {
  std::string id;
  std::string type;
  std::string json;  // the whole object, as JSON text
};

struct ReleaseManifest {
  std::string release_id;
  std::vector<PartSpec> parts;  // in the manifest's order; names unique
  std::vector<RootSpec> roots;
  std::vector<TreeSpec> trees;
  std::vector<ClosedDir> closed;
  std::vector<CheckSpec> checks;
  bool loose = false;

  const PartSpec* find_part(std::string_view name) const;
  const RootSpec* find_root(std::string_view name) const;  // also roots that only parts mention: nullptr
  // Every root name that parts use, "bundle" first, each once.
  std::vector<std::string> root_names() const;
};

enum class Completeness {
  full,              // every part states size and sha256 (a repo's own manifest)
  may_lack_digests,  // --manifest FILE: size and sha256 may come from the hub
};

// Parses and checks a manifest (docs/formats.md). Throws Error{state}, one message that names the key or
// part, what was expected and what was found: not JSON, duplicate key, deeper than 64, foreign or too new
// schema, unknown `requires`, missing key, wrong type, negative or too large size, path that leaves its root,
// two parts of one name, two parts that claim one file, place over a reserved name, unknown link policy or
// accept word. `origin` names the text in messages ("releases/r1/release_manifest.json").
ReleaseManifest parse_manifest(std::string_view json, std::string_view origin, Completeness completeness);

// Only the "schema" string, for telling a foreign manifest from a broken one; empty when there is none.
std::string peek_schema(std::string_view json) noexcept;

// The manifest that stands for a repo without one: one part "files" of the given files, in root "bundle".
// Throws Error{state} for a reserved name, two files of one path, or a file that is another one's directory.
ReleaseManifest loose_manifest(std::string release_id, std::vector<LooseFile> files);

// Names that no part may claim directly below the bundle: ".decant", "restore_lock.json"; nor anything that
// begins with ".decant-" directly below any root.
bool is_reserved(std::string_view root, const fs::RelPath& path);

}  // namespace decant::model
