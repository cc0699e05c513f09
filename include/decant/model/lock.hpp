// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decant/fs/rel_path.hpp"
#include "decant/hash/digest.hpp"

namespace decant::model {

inline constexpr std::string_view k_lock_schema = "decant.lock/1";
inline constexpr std::string_view k_lock_name = "restore_lock.json";

enum class SourceKind { hub, directory, mirror };
enum class RepoType { dataset, model };
std::string_view to_string(SourceKind kind) noexcept;  // "hub", "directory", "mirror"
std::string_view to_string(RepoType type) noexcept;    // "dataset", "model"

// Where a release comes from. For a directory the place is not kept: the manifest's SHA-256 is the identity.
struct LockSource {
  SourceKind kind = SourceKind::hub;
  std::string endpoint;  // hub: scheme, host, port; no credentials
  RepoType repo_type = RepoType::dataset;
  std::string repo;                // canonical ORG/NAME
  std::string requested_repo;      // as asked for, when the hub has renamed it; else empty
  std::string requested_revision;  // as asked for: "main" or a commit id
  std::string commit;              // 40 hex
};

struct LockPart {
  std::string name;  // part name; for a loose repo the path
  fs::RelPath path;  // in the repo
  std::uint64_t size = 0;
  hash::Digest digest;
  std::string xet_hash;  // empty when not told
};

enum class ManifestOrigin {
  repo,   // release_path/release_manifest.json in the repo
  local,  // --manifest FILE
  none,   // loose repo: the lock's parts are the files
};

// restore_lock.json: what a bundle (or a cache entry) is pinned to. Holds no token, no signed URL, no local
// path.
struct RestoreLock {
  LockSource source;
  fs::RelPath release_path;  // folder in the repo; root when at the top or loose without path
  ManifestOrigin manifest_origin = ManifestOrigin::repo;
  hash::Digest
      manifest_sha256;  // of the exact bytes; for a loose repo of the list of parts (docs/formats.md)
  std::uint64_t manifest_size = 0;
  std::string release_id;
  std::vector<LockPart> parts;
  std::string tool_version;
};

// Deterministic JSON text with a trailing newline; "digest" is the SHA-256 of the text with that value empty.
std::string to_json(const RestoreLock& lock);

// Throws Error{state} with the reason: not JSON, duplicate keys, foreign or too new schema, wrong own digest,
// missing keys, bad values.
RestoreLock parse_lock(std::string_view json, std::string_view origin);

// The lock's identity: its own digest, hex. Every state record of the bundle carries it.
hash::Digest lock_digest(const RestoreLock& lock);

// manifest_sha256 of a loose repo: SHA-256 over "SIZE SP ALGORITHM SP HEX SP PATH LF" of its files in path
// order.
hash::Digest loose_identity(const std::vector<LockPart>& parts);

// True for ^[0-9a-f]{40}$.
bool is_commit_id(std::string_view text);

}  // namespace decant::model
