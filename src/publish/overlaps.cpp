// SPDX-License-Identifier: Apache-2.0
#include "overlaps.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "compare.hpp"
#include "decant/base/text.hpp"
#include "entries.hpp"

namespace decant::publish {
namespace {

// A path that a part brings, by the hash of its full path; the path itself decides.
struct Mention {
  std::uint64_t hash = 0;
  std::uint32_t part = 0;
  std::uint32_t entry = 0;
  auto operator<=>(const Mention&) const = default;
};

std::uint64_t hash_of(std::string_view path) {
  return std::hash<std::string_view>{}(path);
}

bool bring_the_same(const model::IndexEntry& a, const model::IndexEntry& b) {
  if (a.type != b.type) return false;
  switch (a.type) {
    case model::EntryType::file:
      return a.size == b.size && a.sha256 == b.sha256 && a.executable == b.executable;
    case model::EntryType::symlink:
      return a.target == b.target;
    case model::EntryType::dir:
      break;
  }
  return true;
}

// The parts of one root directory.
class Group {
 public:
  Group(const std::vector<StagedPart>& parts, std::vector<std::size_t> members)
      : parts_{parts}, members_{std::move(members)} {}

  void compare(std::vector<Placed>& found, const Stop& stop) {
    for (const std::size_t part : members_) add(part, stop);
    std::sort(mentions_.begin(), mentions_.end());
    // Each with the first of its path: who agrees with that one agrees with all.
    std::size_t first = 0;
    for (std::size_t i = 1; i < mentions_.size(); ++i) {
      if (mentions_[i].hash != mentions_[first].hash)
        first = i;
      else
        compare_two(mentions_[first], mentions_[i], found);
    }
    for (const std::size_t part : members_) look_above(part, found, stop);
  }

 private:
  const model::IndexEntry& entry_of(const Mention& mention) const {
    return parts_[mention.part].index->entries[mention.entry];
  }
  void write_path(std::size_t part, const model::IndexEntry& entry, std::string& out) const {
    out = parts_[part].under.str();
    if (!out.empty()) out += '/';
    out += entry.path.str();
  }

  void add(std::size_t part, const Stop& stop) {
    const StagedPart& staged = parts_[part];
    std::string path;
    for (std::size_t i = 0; i < staged.index->entries.size(); ++i) {
      stop.throw_if_requested();
      if ((*staged.marks)[i].place == state::Place::none) continue;
      write_path(part, staged.index->entries[i], path);
      mentions_.push_back({hash_of(path), static_cast<std::uint32_t>(part), static_cast<std::uint32_t>(i)});
    }
  }

  void report(const Mention& earlier, const Mention& later, std::string found, std::vector<Placed>& list) {
    std::string path;
    write_path(later.part, entry_of(later), path);
    list.push_back({later.part, later.entry,
                    Conflict{parts_[later.part].name, parts_[later.part].root_name,
                             fs::RelPath::require(path, "entry"), describe(entry_of(later)),
                             fmt_part(earlier) + std::move(found), parts_[earlier.part].name}});
  }
  std::string fmt_part(const Mention& mention) const {
    return "part " + escape_for_display(parts_[mention.part].name);
  }

  // `a` is of an earlier part, or earlier in the same one.
  void compare_two(const Mention& a, const Mention& b, std::vector<Placed>& found) {
    if (a.part == b.part) return;  // unpacking refuses a part that repeats a name
    if (bring_the_same(entry_of(a), entry_of(b))) return;
    std::string path_a;
    std::string path_b;
    write_path(a.part, entry_of(a), path_a);
    write_path(b.part, entry_of(b), path_b);
    if (path_a != path_b) return;
    report(a, b, " brings other content (" + describe(entry_of(a)) + ")", found);
  }

  // The parents of what `part` brings, each once: does another part bring a file or link there?
  void look_above(std::size_t part, std::vector<Placed>& found, const Stop& stop) {
    std::unordered_set<std::uint64_t> seen;
    std::string path;
    std::string other;
    const StagedPart& staged = parts_[part];
    for (std::size_t i = 0; i < staged.index->entries.size(); ++i) {
      stop.throw_if_requested();
      if ((*staged.marks)[i].place == state::Place::none) continue;
      write_path(part, staged.index->entries[i], path);
      for (std::size_t slash = path.rfind('/'); slash != std::string::npos;
           slash = path.rfind('/', slash - 1)) {
        const std::string_view above = std::string_view{path}.substr(0, slash);
        const std::uint64_t hash = hash_of(above);
        if (!seen.insert(hash).second) break;  // and so are its parents
        for (auto it = std::lower_bound(mentions_.begin(), mentions_.end(), Mention{hash, 0, 0});
             it != mentions_.end() && it->hash == hash; ++it) {
          if (it->part == part || entry_of(*it).type == model::EntryType::dir) continue;
          write_path(it->part, entry_of(*it), other);
          if (other != above) continue;
          found.push_back(
              {part, i,
               Conflict{staged.name, staged.root_name, fs::RelPath::require(above, "entry"), "directory",
                        fmt_part(*it) + " brings other content (" + describe(entry_of(*it)) + ")",
                        parts_[it->part].name}});
        }
      }
    }
  }

  const std::vector<StagedPart>& parts_;
  std::vector<std::size_t> members_;
  std::vector<Mention> mentions_;
};

}  // namespace

std::vector<Placed> find_overlaps(const std::vector<StagedPart>& parts, const Stop& stop) {
  // Roots of two names may be one directory; those that are not there yet are told apart by name only.
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string key = "name " + parts[i].root_name;
    if (parts[i].root != nullptr) {
      const fs::EntryFacts facts = fs::facts_of(parts[i].root->fd());
      key = "inode " + std::to_string(facts.dev) + " " + std::to_string(facts.ino);
    }
    groups[key].push_back(i);
  }
  std::vector<Placed> found;
  for (auto& [key, members] : groups) {
    if (members.size() > 1) Group{parts, members}.compare(found, stop);
  }
  return found;
}

}  // namespace decant::publish
