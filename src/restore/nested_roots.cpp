// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <unordered_map>

#include "prepared.hpp"

namespace decant::restore {

namespace {

struct Claim {
  const PartWork* part = nullptr;
  const model::IndexEntry* entry = nullptr;  // null: a directory that is only implied
};

bool is_directory(const Claim& claim) {
  return claim.entry == nullptr || claim.entry->type == model::EntryType::dir;
}

bool agree(const Claim& a, const Claim& b) {
  if (is_directory(a) || is_directory(b)) return is_directory(a) && is_directory(b);
  return a.entry->type == b.entry->type && a.entry->size == b.entry->size &&
         a.entry->sha256 == b.entry->sha256 && a.entry->target == b.entry->target &&
         a.entry->executable == b.entry->executable;
}

class Claims {
 public:
  void add(const PartWork& part, const model::IndexEntry& entry, const std::string& root) {
    const auto installed = installed_path(part, entry.path);
    const std::string path = root + '/' + installed.str();
    for (auto slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
      put(path.substr(0, slash), {&part, nullptr}, installed, part);
    put(path, {&part, &entry}, installed, part);
  }
  std::vector<report::Conflict> found;

 private:
  void put(const std::string& path, const Claim& claim, const fs::RelPath& installed, const PartWork& part) {
    const auto [at, is_new] = claims_.emplace(path, claim);
    if (is_new || agree(at->second, claim)) return;
    found.push_back({.part = part.spec.name,
                     .root = part.spec.root,
                     .path = installed.str(),
                     .expected = fmt::format("one content at {}", path),
                     .found = fmt::format("part {} brings another through root {}",
                                          at->second.part->spec.name, at->second.part->spec.root),
                     .other_part = at->second.part->spec.name});
  }
  std::unordered_map<std::string, Claim> claims_;
};

}  // namespace

std::vector<report::Conflict> conflicts_of_nested_roots(const Prepared& p) {
  std::map<std::string, std::string> real;
  for (const auto& [name, place] : p.roots)
    real[name] = std::filesystem::weakly_canonical(place.path).string();
  bool nested = false;
  for (const auto& [name, path] : real)
    for (const auto& [other, other_path] : real)
      nested = nested || (name != other && (other_path + '/').starts_with(path + '/'));
  if (!nested) return {};
  Claims claims;
  for (const auto& part : p.parts) {
    if (!part.selected || !part.index || !part.record) continue;
    for (std::size_t i = 0; i < part.index->entries.size(); ++i)
      if (part.record->marks[i].place != state::Place::none)
        claims.add(part, part.index->entries[i], real.at(part.spec.root));
  }
  return std::move(claims.found);
}

}  // namespace decant::restore
