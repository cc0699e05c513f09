// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"
#include "prepared.hpp"

namespace decant::restore {

namespace stdfs = std::filesystem;

std::uint64_t PartWork::size() const {
  if (is_archive()) return spec.file.size.value_or(0);
  std::uint64_t sum = 0;
  for (const auto& file : files) sum += file.size;
  return sum;
}

fs::RelPath installed_path(const PartWork& part, const fs::RelPath& entry) {
  return part.is_archive() ? part.spec.under / entry : entry;
}

source::Object PartWork::object() const {
  return {.path = spec.file.path, .size = *spec.file.size, .digest = *spec.file.digest};
}

fs::RelPath part_dir(const PartWork& part) {
  return fs::RelPath::require(state::part_file_name(part.spec.name), "part name");
}
fs::RelPath tree_dir(const PartWork& part) {
  return part_dir(part) / fs::RelPath::require("tree", "tree");
}
fs::RelPath arriving_dir(const PartWork& part) {
  return part_dir(part) / fs::RelPath::require("arriving", "arriving");
}

namespace {

// Loose files of a directory: the locked ones by path and size; their bytes are proven when they are read.
void require_locked_files(source::Repository& directory, const model::RestoreLock& lock) {
  std::map<std::string, std::uint64_t> there;
  for (const auto& file : directory.list(lock.release_path.str())) there.emplace(file.path, file.size);
  for (const auto& part : lock.parts) {
    const auto at = there.find(part.path.str());
    if (at != there.end() && at->second == part.size) continue;
    throw Error{
        Problem{.kind = ErrorKind::state,
                .thing = directory.describe() + " holds other files than this bundle is locked to",
                .expected = fmt::format("{} of {} bytes", escape_for_display(part.path.str()), part.size),
                .found = at == there.end() ? "no such file" : fmt::format("{} bytes", at->second),
                .hint = "name the directory that holds the locked files, or use another --bundle"}};
  }
}

}  // namespace

source::Repository& Prepared::repository() {
  if (repository_) return *repository_;
  if (request.offline && lock.source.kind != model::SourceKind::directory)
    throw Error{
        ErrorKind::incomplete, "something is missing here and --offline forbids to fetch it",
        "run the same line without --offline, or fill the cache with decant fetch where there is a network"};
  // With a lock, open_repository completes what SOURCE left out from it.
  auto opened = services.open_repository(lock_on_disk ? std::optional{lock.source} : std::nullopt);
  if (lock_digest.valid()) {
    opened->pin({.repo = lock.source.repo, .commit = lock.source.commit});
    // A directory has no commit: its manifest is what identifies it.
    if (lock.source.kind == model::SourceKind::directory &&
        lock.manifest_origin == model::ManifestOrigin::repo) {
      const auto path = (lock.release_path / fs::RelPath::require(model::k_manifest_name, "manifest")).str();
      const auto bytes = opened->read_file(path, model::k_manifest_max_bytes, std::nullopt);
      if (!bytes || hash::sha256(*bytes) != lock.manifest_sha256)
        throw Error{
            Problem{.kind = ErrorKind::state,
                    .thing = opened->describe() + " holds another release than this bundle is locked to",
                    .expected = "manifest SHA-256 " + lock.manifest_sha256.hex(),
                    .found = bytes ? "manifest SHA-256 " + hash::sha256(*bytes).hex() : "no manifest",
                    .hint = "name the directory that holds the locked release, or use another --bundle"}};
    }
    if (lock.source.kind == model::SourceKind::directory &&
        lock.manifest_origin == model::ManifestOrigin::none)
      require_locked_files(*opened, lock);
  }
  repository_ = std::move(opened);
  return *repository_;
}

namespace {

// Absolute and lexically normal; nothing needs to exist.
std::string absolute_path(const std::string& path) {
  auto text = stdfs::absolute(path).lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

void place_roots(Prepared& p) {
  const std::string bundle = absolute_path(p.request.bundle);
  state::RootMap recorded;
  if (p.bundle) recorded = p.bundle->read_roots().value_or(state::RootMap{});
  p.roots["bundle"] = {.path = bundle, .recorded = "."};
  const auto known = p.manifest.root_names();
  for (const auto& [name, directory] : p.request.roots) {
    if (name == "bundle")
      throw Error{ErrorKind::usage, "the root bundle is where --bundle says", "leave --root bundle= out"};
    const bool is_known = std::ranges::find(known, name) != known.end();
    // A profile may set the runtime's place for every release.
    if (!is_known && name == "runtime") continue;
    if (!is_known)
      throw Error{ErrorKind::usage,
                  fmt::format("the release has no root named '{}'", escape_for_display(name)),
                  fmt::format("its roots are: {}", fmt::join(known, ", "))};
    auto path = absolute_path(directory);
    auto kept = p.bundle ? p.bundle->stored_root(path) : path;
    // Another name of the place where it lies already, through a link.
    if (const auto old = recorded.find(name);
        old != recorded.end() &&
        stdfs::weakly_canonical(p.bundle->root_path(old->second)) == stdfs::weakly_canonical(path))
      kept = old->second;
    p.roots[name] = {.path = path, .recorded = kept};
  }
  for (const auto& name : known) {
    if (p.roots.contains(name)) continue;
    if (const auto it = recorded.find(name); it != recorded.end()) {
      p.roots[name] = {.path = p.bundle->root_path(it->second), .recorded = it->second};
      continue;
    }
    const auto* spec = p.manifest.find_root(name);
    if (spec != nullptr && spec->inside_bundle) {
      p.roots[name] = {.path = fmt::format("{}/{}", bundle, name), .recorded = name};
      continue;
    }
    const bool used = std::ranges::any_of(p.manifest.parts, [&](const model::PartSpec& part) {
      return part.root == name && p.selection.wants_part(part);
    });
    if (!used) continue;
    const std::string flag = name == "runtime" ? "--runtime-root DIR" : fmt::format("--root {}=DIR", name);
    std::string hint = "add " + flag;
    if (spec != nullptr && !spec->suggest.empty())
      hint += fmt::format("; the release suggests {}", escape_for_display(spec->suggest));
    throw Error{ErrorKind::usage,
                fmt::format("the release unpacks into a root '{}' and nobody says where that is", name),
                hint};
  }
  for (const auto& [name, place] : p.roots)
    if (place.path == bundle + "/.decant" || place.path.starts_with(bundle + "/.decant/"))
      throw Error{ErrorKind::usage, fmt::format("the root {} lies in the bundle's own .decant/", name),
                  "choose another directory"};
  for (const auto& [name, place] : p.roots)
    for (const auto& [other, other_place] : p.roots)
      if (name < other && place.path == other_place.path)
        throw Error{ErrorKind::usage,
                    fmt::format("the roots {} and {} are the same directory, {}", name, other,
                                escape_for_display(place.path)),
                    "give each root a directory of its own"};
}

void find_lock(Prepared& p) {
  if (p.bundle) {
    if (auto lock = p.bundle->read_lock()) {
      auto bytes = p.bundle->read_manifest(lock->manifest_sha256);
      // A copied lock, or a run that was killed right after its lock: the cache may hold the manifest.
      if (!bytes && p.cache) bytes = p.cache->read_manifest(*lock);
      p.lock_on_disk = true;
      adopt_lock(p, std::move(*lock), std::move(bytes));
      // A directory says what it holds without any request: SOURCE must be the locked release.
      if (p.request.asked && p.lock.source.kind == model::SourceKind::directory) p.repository();
      return;
    }
  }
  if (!p.request.offline) {
    resolve_release(p);
    return;
  }
  if (!p.request.asked)
    throw Error{ErrorKind::usage, "no SOURCE is given and the bundle holds no lock",
                "name the repo: ORG/NAME"};
  if (!p.cache)
    throw Error{ErrorKind::usage, "--offline needs a cache that decant fetch filled",
                "add --download-cache DIR"};
  const auto release = fs::RelPath::require(p.request.release.value_or(""), "--release");
  auto locks = p.cache->find_locks(*p.request.asked, release);
  if (p.request.revision)
    std::erase_if(locks, [&](const model::RestoreLock& lock) {
      return lock.source.commit != *p.request.revision &&
             lock.source.requested_revision != *p.request.revision;
    });
  // Of several mirrors with one release, the one that was named.
  if (locks.size() > 1 && p.request.asked->kind == model::SourceKind::mirror)
    std::erase_if(locks, [&](const model::RestoreLock& lock) {
      return lock.source.endpoint != p.request.asked->endpoint;
    });
  if (locks.empty())
    throw Error{
        Problem{.kind = ErrorKind::incomplete,
                .thing = fmt::format("the cache {} holds no lock for this repo, release and revision",
                                     escape_for_display(p.cache->path())),
                .expected = "a lock that decant fetch wrote",
                .found = "none",
                .hint = "run decant fetch with the same SOURCE, --release and --download-cache first"}};
  if (locks.size() > 1) {
    std::string commits;
    for (const auto& lock : locks) commits += "\n    --revision " + lock.source.commit;
    throw Error{ErrorKind::usage, "the cache holds several commits of this release", "choose one:" + commits};
  }
  auto bytes = p.cache->read_manifest(locks.front());
  adopt_lock(p, std::move(locks.front()), std::move(bytes));
}

}  // namespace

report::Result describe(const Prepared& p, std::string command) {
  report::Result result;
  result.command = std::move(command);
  result.release_id = p.lock.release_id;
  result.commit = p.lock.source.commit;
  result.source = p.lock.source.kind == model::SourceKind::hub ? p.lock.source.repo
                  : p.lock.source.kind == model::SourceKind::mirror
                      ? p.lock.source.endpoint
                      : std::string{to_string(p.lock.source.kind)};
  result.manifest_sha256 = p.lock.manifest_sha256.hex();
  result.lock_digest = p.lock_digest.hex();
  result.subset = !p.selection.is_everything();
  for (const auto& part : p.parts)
    result.parts.push_back(
        {.name = part.spec.name,
         .outcome = part.selected ? report::PartOutcome::pending : report::PartOutcome::skipped,
         .size = part.size()});
  result.conflicts = p.conflicts;
  return result;
}

std::shared_ptr<Prepared> prepare(const Request& request, const Services& services) {
  auto prepared = std::make_shared<Prepared>();
  auto& p = *prepared;
  p.request = request;
  p.services = services;
  if (request.cache) p.cache.emplace(*request.cache);
  if (!request.bundle.empty()) {
    if (auto there = state::Bundle::open_if_there(request.bundle)) p.bundle.emplace(std::move(*there));
  }
  find_lock(p);
  p.selection = model::Selection{request.only, request.skip, p.manifest};
  if (!request.bundle.empty()) place_roots(p);
  make_parts(p);
  if (request.bundle.empty()) {
    for (auto& part : p.parts) part.stage_all = part.selected;
  } else {
    look_at_parts(p);
  }
  return prepared;
}

}  // namespace decant::restore
