// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"
#include "places.hpp"

namespace decant::restore {

namespace {

[[noreturn]] void refuse(std::string_view what, std::string_view locked, std::string_view asked) {
  throw Error{Problem{
      .kind = ErrorKind::state,
      .thing = fmt::format("this bundle is locked to another {}", what),
      .expected = escape_for_display(locked),
      .found = escape_for_display(asked) + " on the command line",
      .hint = "use another --bundle; or remove restore_lock.json and .decant/ from this one: files stay, and "
              "identical ones are adopted"}};
}

void compare_with_request(const model::RestoreLock& lock, const Request& request) {
  if (request.asked) {
    if (request.asked->kind != lock.source.kind)
      refuse("kind of source", to_string(lock.source.kind), to_string(request.asked->kind));
    if (lock.source.kind == model::SourceKind::hub) {
      if (request.asked->repo_type != lock.source.repo_type)
        refuse("repo type", to_string(lock.source.repo_type), to_string(request.asked->repo_type));
      const auto asked = to_lower_ascii(request.asked->repo);
      if (asked != to_lower_ascii(lock.source.repo) && asked != to_lower_ascii(lock.source.requested_repo))
        refuse("repo", lock.source.repo, request.asked->repo);
    }
  }
  if (request.revision && *request.revision != lock.source.commit &&
      *request.revision != lock.source.requested_revision)
    refuse("commit",
           fmt::format("{} (asked for as '{}')", lock.source.commit, lock.source.requested_revision),
           *request.revision);
  if (request.release && *request.release != lock.release_path.str())
    refuse("release", lock.release_path.is_root() ? "the repo's root" : lock.release_path.str(),
           *request.release);
  if (request.loose && lock.manifest_origin != model::ManifestOrigin::none)
    refuse("release", "a manifest, SHA-256 " + lock.manifest_sha256.hex(), "--loose");
  if (request.manifest) {
    const auto digest = hash::sha256(request.manifest->bytes);
    if (digest != lock.manifest_sha256)
      refuse("manifest", "SHA-256 " + lock.manifest_sha256.hex(),
             fmt::format("{}, SHA-256 {}", request.manifest->name, digest.hex()));
  }
}

std::string fetch_manifest(Prepared& p) {
  const auto& lock = p.lock;
  const auto path = (lock.release_path / fs::RelPath::require(model::k_manifest_name, "manifest")).str();
  for (const auto& name : {fs::RelPath::require(path, "manifest"), cache::Cache::manifest_path(lock)})
    if (auto bytes =
            read_pinned(p, {.path = name, .size = lock.manifest_size, .digest = lock.manifest_sha256}))
      return std::move(*bytes);
  if (lock.manifest_origin == model::ManifestOrigin::local) {
    if (p.request.manifest) return p.request.manifest->bytes;
    throw Error{
        Problem{.kind = ErrorKind::state,
                .thing = "the lock was made with a --manifest file, and that file is not in .decant/release/",
                .expected = "manifest SHA-256 " + lock.manifest_sha256.hex(),
                .found = "no manifest",
                .hint = "give the same file again with --manifest FILE"}};
  }
  auto bytes = p.repository().read_file(path, model::k_manifest_max_bytes, std::nullopt);
  if (!bytes)
    throw Error{
        Problem{.kind = ErrorKind::access,
                .thing = fmt::format("{}: the locked manifest is gone", escape_for_display(path)),
                .expected = "SHA-256 " + lock.manifest_sha256.hex(),
                .found = "no such file in " + p.repository().describe(),
                .hint = "was the repo's history rewritten? a cache filled by decant fetch still works"}};
  if (hash::sha256(*bytes) != lock.manifest_sha256)
    throw Error{
        Problem{.kind = ErrorKind::integrity,
                .thing = fmt::format("{}: not the manifest that the lock names", escape_for_display(path)),
                .expected = "SHA-256 " + lock.manifest_sha256.hex(),
                .found = "SHA-256 " + hash::sha256(*bytes).hex(),
                .hint = "the source serves other bytes for a pinned commit; do not trust it"}};
  return std::move(*bytes);
}

}  // namespace

model::ReleaseManifest manifest_from_locked_files(const model::RestoreLock& lock) {
  std::vector<model::LooseFile> files;
  files.reserve(lock.parts.size());
  for (const auto& part : lock.parts)
    files.push_back({.repo_path = part.path, .path = part.path, .size = part.size, .digest = part.digest});
  return model::loose_manifest(lock.release_id, std::move(files));
}

void adopt_lock(Prepared& p, model::RestoreLock lock, std::optional<std::string> manifest_bytes) {
  compare_with_request(lock, p.request);
  p.lock = std::move(lock);
  p.lock_digest = model::lock_digest(p.lock);
  if (p.lock.manifest_origin == model::ManifestOrigin::none) {
    p.manifest = manifest_from_locked_files(p.lock);
    return;
  }
  const bool had_bytes =
      manifest_bytes.has_value() && hash::sha256(*manifest_bytes) == p.lock.manifest_sha256;
  p.manifest_bytes = had_bytes ? std::move(*manifest_bytes) : fetch_manifest(p);
  p.manifest = model::parse_manifest(p.manifest_bytes, "the locked manifest",
                                     p.lock.manifest_origin == model::ManifestOrigin::local
                                         ? model::Completeness::may_lack_digests
                                         : model::Completeness::full);
}

void make_parts(Prepared& p) {
  std::unordered_map<std::string, const model::LockPart*> locked;
  for (const auto& part : p.lock.parts) locked.emplace(part.name, &part);
  for (auto& spec : p.manifest.parts) {
    PartWork work;
    if (spec.kind != model::PartKind::files) {
      const auto it = locked.find(spec.name);
      if (it == locked.end())
        throw Error{
            Problem{.kind = ErrorKind::state,
                    .thing = fmt::format("part {}: the lock does not know it", spec.name),
                    .expected = "the same parts in lock and manifest",
                    .found = "a manifest with another part",
                    .hint = "use another --bundle; or remove restore_lock.json and .decant/ from this one"}};
      spec.file.size = it->second->size;
      spec.file.digest = it->second->digest;
    }
    work.spec = spec;
    work.selected = p.selection.wants_part(spec);
    if (spec.kind == model::PartKind::files) {
      for (const auto& file : spec.files)
        if (p.selection.wants_entry(spec, file.path)) work.files.push_back(file);
    } else if (spec.kind == model::PartKind::place) {
      work.files.push_back({.repo_path = spec.file.path,
                            .path = spec.as,
                            .size = spec.file.size.value_or(0),
                            .digest = spec.file.digest.value_or(hash::Digest{})});
    }
    p.parts.push_back(std::move(work));
  }
}

}  // namespace decant::restore
