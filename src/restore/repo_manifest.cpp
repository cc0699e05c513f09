// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"
#include "prepared.hpp"

namespace decant::restore {

namespace {

std::string in_words(const fs::RelPath& path) {
  return path.is_root() ? "the repo's root" : escape_for_display(path.str());
}

std::vector<std::string> manifests_in(const model::Listing& listing) {
  std::vector<std::string> folders;
  for (const auto& file : listing) {
    if (file.path == model::k_manifest_name) folders.emplace_back();
    const std::string tail = fmt::format("/{}", model::k_manifest_name);
    if (file.path.ends_with(tail)) folders.push_back(file.path.substr(0, file.path.size() - tail.size()));
  }
  return folders;
}

// Digests that no listing tells (a directory): read the bytes once.
hash::Digest digest_of(source::Repository& repo, const source::Object& object, const Stop& stop) {
  auto fd = repo.objects().open_in_place(object);
  if (!fd)
    throw Error{ErrorKind::access,
                fmt::format("{}: neither the listing nor the file tells its digest",
                            escape_for_display(object.path.str())),
                "name a release with a manifest, or tell who runs the hub"};
  return hash::hash_file(fd->get(), object.size, hash::Algorithm::sha256, object.path.str(), stop);
}

model::ReleaseManifest loose_release(Prepared& p, const fs::RelPath& prefix, const model::Listing& listing) {
  auto& repo = p.repository();
  std::vector<model::LooseFile> files;
  for (const auto& listed : listing) {
    p.stop().throw_if_requested();
    const auto path = fs::RelPath::require(listed.path, "a file of " + repo.describe());
    if (!path.is_within(prefix)) continue;
    if (model::is_reserved("bundle", path))
      throw Error{
          Problem{.kind = ErrorKind::state,
                  .thing = fmt::format("{}: the repo has a file of a name that decant keeps for itself",
                                       escape_for_display(listed.path)),
                  .expected = "no .decant or restore_lock.json at the top",
                  .found = "one",
                  .hint = "restore a folder of the repo instead: --loose --release FOLDER"}};
    source::Object object{
        .path = path, .size = listed.size, .digest = listed.digest.value_or(hash::Digest{})};
    if (!object.digest.valid()) object.digest = digest_of(repo, object, p.stop());
    p.lock.parts.push_back({.name = listed.path,
                            .path = path,
                            .size = listed.size,
                            .digest = object.digest,
                            .xet_hash = listed.xet_hash});
  }
  if (p.lock.parts.empty())
    throw Error{Problem{.kind = ErrorKind::access,
                        .thing = fmt::format("{}: nothing to restore", repo.describe()),
                        .expected = "files below " + in_words(prefix),
                        .found = "none",
                        .hint = "check the path and the revision"}};
  std::ranges::sort(p.lock.parts, {}, &model::LockPart::path);
  p.lock.manifest_origin = model::ManifestOrigin::none;
  p.lock.manifest_sha256 = model::loose_identity(p.lock.parts);
  p.lock.release_id =
      prefix.is_root() ? (p.lock.source.repo.empty() ? "files" : p.lock.source.repo) : prefix.str();
  return manifest_from_locked_files(p.lock);
}

// A mirror says nothing about its files: all figures are the manifest's.
void take_parts_of_mirror(Prepared& p) {
  for (const auto& part : p.manifest.parts) {
    if (!part.file.size || !part.file.digest)
      throw Error{Problem{.kind = ErrorKind::state,
                          .thing = fmt::format("part {} ({}): a mirror tells neither sizes nor digests",
                                               part.name, escape_for_display(part.file.path.str())),
                          .expected = "size and sha256 of every part in the manifest",
                          .found = part.file.size ? "no sha256" : "no size",
                          .hint = "add them to the manifest, or restore from the hub, which knows them"}};
    p.lock.parts.push_back(
        {.name = part.name, .path = part.file.path, .size = *part.file.size, .digest = *part.file.digest});
  }
}

// What the repo says about the parts: completes a local manifest, and catches one that the repo contradicts.
void complete_parts(Prepared& p) {
  auto& repo = p.repository();
  if (repo.kind() == model::SourceKind::mirror) return take_parts_of_mirror(p);
  std::vector<std::string> paths;
  for (const auto& part : p.manifest.parts) paths.push_back(part.file.path.str());
  const auto listing = repo.paths_info(paths);
  std::unordered_map<std::string, const model::ListedFile*> told;
  for (const auto& file : listing) told.emplace(file.path, &file);
  for (auto& part : p.manifest.parts) {
    const auto it = told.find(part.file.path.str());
    const std::string where =
        fmt::format("part {} ({})", part.name, escape_for_display(part.file.path.str()));
    if (it == told.end()) {
      p.problems.push_back({.kind = ErrorKind::access,
                            .thing = where + ": not in the repo at this commit",
                            .expected = "a file that the manifest names",
                            .found = "no such path in " + repo.describe(),
                            .hint = "is the revision the one the manifest was made for?"});
      continue;
    }
    const auto& listed = *it->second;
    if (!part.file.size) part.file.size = listed.size;
    if (!part.file.digest) part.file.digest = listed.digest;
    if (!part.file.digest)
      part.file.digest =
          digest_of(repo, {.path = part.file.path, .size = listed.size, .digest = {}}, p.stop());
    if (*part.file.size != listed.size) {
      p.problems.push_back(
          {.kind = ErrorKind::integrity,
           .thing = where + ": the repo holds a file of another size",
           .expected = fmt::format("{} bytes (manifest)", *part.file.size),
           .found = fmt::format("{} bytes", listed.size),
           .hint = "manifest and repo do not belong together at this commit; ask the release's authors"});
    } else if (listed.digest && listed.digest->algorithm() == part.file.digest->algorithm() &&
               *listed.digest != *part.file.digest) {
      p.problems.push_back(
          {.kind = ErrorKind::integrity,
           .thing = where + ": the repo tells another digest",
           .expected = part.file.digest->hex() + " (manifest)",
           .found = listed.digest->hex(),
           .hint = "manifest and repo do not belong together at this commit; ask the release's authors"});
    }
    p.lock.parts.push_back({.name = part.name,
                            .path = part.file.path,
                            .size = *part.file.size,
                            .digest = *part.file.digest,
                            .xet_hash = listed.xet_hash});
  }
  if (!p.problems.empty() && p.lock.parts.size() != p.manifest.parts.size()) throw Error{p.problems.front()};
}

[[noreturn]] void no_manifest_there(const Prepared& p, source::Repository& repo, const fs::RelPath& release,
                                    const std::vector<std::string>& folders) {
  const std::string where = (release / fs::RelPath::require(model::k_manifest_name, "manifest")).str();
  if (p.request.release) {
    std::string hint;
    if (folders.empty()) {
      hint = "the repo has no release manifest at all: restore its files as they are with --loose";
    } else {
      hint = "nearest:";
      for (const auto& folder : nearest(release.str(), folders, 5))
        hint += folder.empty() ? "\n    (leave --release out: the repo's root has one)"
                               : "\n    --release " + escape_for_display(folder);
    }
    throw Error{Problem{.kind = ErrorKind::access,
                        .thing = fmt::format("{}: no release there", repo.describe()),
                        .expected = escape_for_display(where),
                        .found = "no such file at this commit",
                        .hint = hint}};
  }
  std::string hint = "choose one:";
  for (const auto& folder : folders) hint += "\n    --release " + escape_for_display(folder);
  throw Error{Problem{
      .kind = ErrorKind::usage,
      .thing = fmt::format("{}: the repo's root holds no {}", repo.describe(), model::k_manifest_name),
      .expected = "",
      .found = counted(folders.size(), "release folder", "release folders"),
      .hint = hint}};
}

[[noreturn]] void no_manifest_on_mirror(const source::Repository& mirror, const std::string& path) {
  throw Error{Problem{.kind = ErrorKind::access,
                      .thing = fmt::format("{}: no release there", mirror.describe()),
                      .expected = escape_for_display(path),
                      .found = "HTTP 404",
                      .hint =
                          "a mirror has no listing: name the folder that holds release_manifest.json with "
                          "--release, or give a manifest with --manifest"}};
}

}  // namespace

void resolve_release(Prepared& p) {
  auto& repo = p.repository();
  p.lock = {};
  p.lock.tool_version = p.request.tool_version;
  repo.resolve(p.request.revision.value_or("main"));
  p.lock.source = repo.lock_source();
  if (p.request.asked && !p.request.asked->repo.empty() &&
      to_lower_ascii(p.request.asked->repo) != to_lower_ascii(p.lock.source.repo)) {
    p.lock.source.requested_repo = p.request.asked->repo;
    p.reporter().message(progress::Level::info, fmt::format("{} is {} now: the hub has renamed it",
                                                            escape_for_display(p.request.asked->repo),
                                                            escape_for_display(p.lock.source.repo)));
  }
  const auto release = fs::RelPath::require(p.request.release.value_or(""), "--release");
  p.lock.release_path = release;

  if (p.request.loose) {
    p.manifest = loose_release(p, release, repo.list(release.str()));
  } else if (p.request.manifest) {
    p.manifest_bytes = p.request.manifest->bytes;
    p.manifest = model::parse_manifest(p.manifest_bytes, p.request.manifest->name,
                                       model::Completeness::may_lack_digests);
    p.lock.manifest_origin = model::ManifestOrigin::local;
  } else {
    const auto path = (release / fs::RelPath::require(model::k_manifest_name, "manifest")).str();
    auto bytes = repo.read_file(path, model::k_manifest_max_bytes, std::nullopt);
    if (!bytes && repo.kind() == model::SourceKind::mirror) {
      no_manifest_on_mirror(repo, path);
    } else if (!bytes) {
      const auto listing = repo.list("");
      const auto folders = manifests_in(listing);
      if (p.request.release || !folders.empty()) no_manifest_there(p, repo, release, folders);
      p.manifest = loose_release(p, release, listing);
    } else {
      p.manifest_bytes = std::move(*bytes);
      p.manifest = model::parse_manifest(p.manifest_bytes, path, model::Completeness::full);
      p.lock.manifest_origin = model::ManifestOrigin::repo;
    }
  }
  if (!p.manifest.loose) {
    p.lock.manifest_sha256 = hash::sha256(p.manifest_bytes);
    p.lock.manifest_size = p.manifest_bytes.size();
    p.lock.release_id = p.manifest.release_id;
    complete_parts(p);
  }
  p.lock_digest = model::lock_digest(p.lock);
}

}  // namespace decant::restore
