// SPDX-License-Identifier: Apache-2.0
// The locks and manifests that a cache keeps; the layout stands in cache.hpp.
#include <fmt/format.h>

#include <utility>

#include "decant/base/error.hpp"
#include "decant/cache/cache.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::cache {
namespace {

constexpr std::uint64_t k_most_bytes = 512 * k_mib;  // a lock of a loose repo names every file
constexpr std::string_view k_manifest_name = "release_manifest.json";

fs::RelPath rel(std::string_view text) {
  return fs::RelPath::require(text, "cache");
}

// Where the locks of a repo lie, one directory for each pin.
fs::RelPath repo_directory(const model::LockSource& source) {
  if (source.kind != model::SourceKind::hub) return rel("releases") / rel(to_string(source.kind));
  const std::string_view kind = source.repo_type == model::RepoType::dataset ? "datasets" : "models";
  return rel("releases") / rel(kind) / fs::RelPath::require(source.repo, "repo name");
}

fs::RelPath pin_of(const model::RestoreLock& lock) {
  if (lock.source.kind != model::SourceKind::hub) return rel(lock.manifest_sha256.hex());
  if (lock.manifest_origin == model::ManifestOrigin::repo) return rel(lock.source.commit);
  return rel(fmt::format("{}-{}", lock.source.commit, lock.manifest_sha256.hex().substr(0, 16)));
}

fs::RelPath release_directory(const fs::RelPath& release) {
  return release.is_root() ? rel("_root") : release;
}

fs::RelPath directory_of(const model::RestoreLock& lock) {
  return repo_directory(lock.source) / pin_of(lock) / release_directory(lock.release_path);
}

// Nothing is written when the same bytes are there already.
void write_if_new(const std::string& cache, const fs::RelPath& directory, std::string_view name,
                  std::string_view bytes) {
  const fs::DirHandle dir = fs::DirHandle::open(cache, fs::Missing::create).make_dirs(directory);
  if (dir.read_small_file(rel(name), k_most_bytes) != bytes) dir.write_file_atomically(rel(name), bytes);
}

bool is_like(const model::RestoreLock& lock, const model::LockSource& like, const fs::RelPath& release) {
  const model::LockSource& source = lock.source;
  if (source.kind != like.kind || lock.release_path != release) return false;
  return source.kind != model::SourceKind::hub ||
         (source.repo_type == like.repo_type && source.repo == like.repo);
}

// nullopt when there is none, or none that can be trusted.
std::optional<model::RestoreLock> read_lock(const fs::DirHandle& directory) {
  try {
    const auto text = directory.read_small_file(rel(model::k_lock_name), k_most_bytes);
    if (!text) return std::nullopt;
    return model::parse_lock(*text, directory.path_of(rel(model::k_lock_name)));
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

void Cache::write_lock(const model::RestoreLock& lock) {
  write_if_new(path_, directory_of(lock), model::k_lock_name, model::to_json(lock));
}

std::vector<model::RestoreLock> Cache::find_locks(const model::LockSource& like,
                                                  const fs::RelPath& release) const {
  std::vector<model::RestoreLock> locks;
  const auto root = fs::DirHandle::open_if_there(path_);
  const auto pins = root ? root->open_dir_if_there(repo_directory(like)) : std::nullopt;
  if (!pins) return locks;
  for (const std::string& pin : pins->list()) {
    const auto directory = pins->open_dir_if_there(rel(pin) / release_directory(release));
    auto lock = directory ? read_lock(*directory) : std::nullopt;
    if (lock && is_like(*lock, like, release)) locks.push_back(*std::move(lock));
  }
  return locks;
}

fs::RelPath Cache::manifest_path(const model::RestoreLock& lock) {
  return directory_of(lock) / rel(k_manifest_name);
}

void Cache::write_manifest(const model::RestoreLock& lock, std::string_view bytes) {
  write_if_new(path_, directory_of(lock), k_manifest_name, bytes);
}

std::optional<std::string> Cache::read_manifest(const model::RestoreLock& lock) const {
  const auto root = fs::DirHandle::open_if_there(path_);
  const auto directory = root ? root->open_dir_if_there(directory_of(lock)) : std::nullopt;
  if (!directory) return std::nullopt;
  auto bytes = directory->read_small_file(rel(k_manifest_name), k_most_bytes);
  if (!bytes || hash::sha256(std::string_view{*bytes}) != lock.manifest_sha256) return std::nullopt;
  return bytes;
}

}  // namespace decant::cache
