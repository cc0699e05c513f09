// SPDX-License-Identifier: Apache-2.0
#include "manifest_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"

namespace decant::model {

std::string Claims::parents(const std::string& root, const fs::RelPath& path, const std::string& owner) {
  for (fs::RelPath parent = path.parent();; parent = parent.parent()) {
    const auto [at, added] = roots_[root].try_emplace(parent, Claim{.owner = owner, .is_file = false});
    if (!added) {
      if (!at->second.is_file) return {};  // its own parents were claimed with it
      return fmt::format("{} makes {} a file", at->second.owner, escape_for_display(parent.str()));
    }
    if (parent.is_root()) return {};
  }
}

std::string Claims::directory(const std::string& root, const fs::RelPath& path, const std::string& owner) {
  const auto [at, added] = roots_[root].try_emplace(path, Claim{.owner = owner, .is_file = false});
  if (!added) return at->second.is_file ? fmt::format("{} makes it a file", at->second.owner) : std::string{};
  return path.is_root() ? std::string{} : parents(root, path, owner);
}

std::string Claims::file(const std::string& root, const fs::RelPath& path, const std::string& owner) {
  const auto [at, added] = roots_[root].try_emplace(path, Claim{.owner = owner, .is_file = true});
  if (!added) {
    return fmt::format("{} {}", at->second.owner,
                       at->second.is_file ? "claims it too" : "needs a directory there");
  }
  return parents(root, path, owner);
}

const PartSpec* ReleaseManifest::find_part(std::string_view name) const {
  const auto at =
      std::find_if(parts.begin(), parts.end(), [&](const PartSpec& part) { return part.name == name; });
  return at == parts.end() ? nullptr : &*at;
}

const RootSpec* ReleaseManifest::find_root(std::string_view name) const {
  const auto at =
      std::find_if(roots.begin(), roots.end(), [&](const RootSpec& root) { return root.name == name; });
  return at == roots.end() ? nullptr : &*at;
}

std::vector<std::string> ReleaseManifest::root_names() const {
  std::vector<std::string> names{"bundle"};
  for (const PartSpec& part : parts) {
    if (std::find(names.begin(), names.end(), part.root) == names.end()) names.push_back(part.root);
  }
  return names;
}

bool is_reserved(std::string_view root, const fs::RelPath& path) {
  const std::string_view first = path.first();
  if (first.starts_with(".decant-")) return true;
  return root == "bundle" && (first == ".decant" || first == "restore_lock.json");
}

ReleaseManifest loose_manifest(std::string release_id, std::vector<LooseFile> files) {
  std::sort(files.begin(), files.end(), [](const LooseFile& a, const LooseFile& b) {
    return std::tie(a.path, a.repo_path) < std::tie(b.path, b.repo_path);
  });
  const auto refuse = [](const LooseFile& file, std::string found) {
    throw Error{Problem{.kind = ErrorKind::state,
                        .thing = fmt::format("file {} of the repo cannot be restored as it is",
                                             escape_for_display(file.repo_path.str())),
                        .expected = "a path that nothing else claims",
                        .found = std::move(found),
                        .hint = "restore a folder beside it with --release PATH"}};
  };
  Claims claims;
  for (const LooseFile& file : files) {
    if (file.path.is_root()) refuse(file, "no file name");
    if (is_reserved("bundle", file.path)) refuse(file, "a name that decant keeps for itself in a bundle");
    const std::string clash =
        claims.file("bundle", file.path, "file " + escape_for_display(file.repo_path.str()));
    if (!clash.empty()) refuse(file, clash);
  }
  ReleaseManifest manifest;
  manifest.release_id = std::move(release_id);
  manifest.loose = true;
  manifest.parts.push_back(
      PartSpec{.name = "files", .kind = PartKind::files, .root = "bundle", .files = std::move(files)});
  return manifest;
}

}  // namespace decant::model
