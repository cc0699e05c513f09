// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compare.hpp"
#include "decant/base/error.hpp"
#include "decant/publish/publish.hpp"
#include "entries.hpp"
#include "overlaps.hpp"
#include "parents.hpp"

namespace decant::publish {
namespace {

// One part against what its root holds now.
class Comparison {
 public:
  Comparison(const StagedPart& part, std::size_t number, std::set<std::string>& told,
             std::vector<Placed>& found, const Stop& stop)
      : part_{part},
        number_{number},
        told_{told},
        found_{found},
        stop_{stop},
        parents_{part.root},
        locator_{part.under},
        open_to_all_{part.root != nullptr && is_open_to_all(*part.root)} {}

  void run() {
    require_parallel(*part_.index, *part_.marks);
    if (part_.root == nullptr) return;
    const Parents::Found* parent = nullptr;
    for (std::size_t i = 0; i < part_.index->entries.size(); ++i) {
      stop_.throw_if_requested();
      const state::EntryMark& mark = (*part_.marks)[i];
      if (mark.place == state::Place::none) continue;
      const model::IndexEntry& entry = part_.index->entries[i];
      if (locator_.move_to(entry) || parent == nullptr) {
        parent = &parents_.at(locator_.directory());
        trusted_ = !is_below_trap(locator_.directory(), i);
      }
      if (parent->kind == Parents::Kind::blocked) tell_blocked(parent->blocker, i);
      if (parent->kind == Parents::Kind::open && trusted_) compare(*parent->dir, entry, mark, i);
    }
  }

 private:
  void compare(const fs::DirHandle& dir, const model::IndexEntry& entry, const state::EntryMark& mark,
               std::size_t i) {
    const auto facts = dir.stat(locator_.name());
    if (!facts) return;
    if (open_to_all_ && locator_.directory().is_root()) {
      if (auto why = distrust(*facts)) {
        add(locator_.path(), i, describe(entry), describe(dir, locator_.name(), *facts) + " " + *why);
        return;
      }
    }
    const bool known = facts->type == type_of(entry) && fs::stamp_of(*facts) == mark.stamp;
    if (known) return;
    if (entry.type == model::EntryType::dir) {
      if (facts->type != fs::FileType::dir) tell_blocked(locator_.path(), i);
      return;
    }
    if (auto what = difference(dir, locator_.name(), *facts, entry, stop_)) {
      add(locator_.path(), i, describe(entry), *std::move(what));
    }
  }

  // Once for each parent, however much lies below it and whichever part brings it.
  void tell_blocked(const fs::RelPath& blocker, std::size_t i) {
    const auto facts = part_.root->stat(blocker);
    if (!facts) return;
    add_once(blocker, i, describe(*part_.root, blocker, *facts) + " (the release has a directory here)");
  }

  // Whether the topmost parent of `directory` is one that we must not build upon.
  bool is_below_trap(const fs::RelPath& directory, std::size_t i) {
    if (!open_to_all_ || directory.is_root()) return false;
    const fs::RelPath top = fs::RelPath::require(directory.first(), "entry");
    const auto facts = part_.root->stat(top);
    if (!facts || facts->type != fs::FileType::dir) return false;
    const auto why = distrust(*facts);
    if (why) add_once(top, i, "directory " + *why);
    return why.has_value();
  }

  void add_once(const fs::RelPath& path, std::size_t i, std::string found) {
    if (told_.insert(part_.root_name + '\0' + path.str()).second) add(path, i, "directory", std::move(found));
  }
  void add(const fs::RelPath& path, std::size_t i, std::string expected, std::string found) {
    told_.insert(part_.root_name + '\0' + path.str());
    found_.push_back(
        {number_, i, Conflict{part_.name, part_.root_name, path, std::move(expected), std::move(found), {}}});
  }

  const StagedPart& part_;
  std::size_t number_;
  std::set<std::string>& told_;
  std::vector<Placed>& found_;
  const Stop& stop_;
  Parents parents_;
  Locator locator_;
  bool open_to_all_;
  bool trusted_ = true;
};

}  // namespace

std::vector<Conflict> find_conflicts(const std::vector<StagedPart>& parts, const Stop& stop) {
  std::vector<Placed> found;
  std::set<std::string> told;  // roots and paths that have a conflict already
  for (std::size_t i = 0; i < parts.size(); ++i) Comparison{parts[i], i, told, found, stop}.run();
  for (Placed& placed : find_overlaps(parts, stop)) found.push_back(std::move(placed));
  std::stable_sort(found.begin(), found.end(), [](const Placed& a, const Placed& b) {
    return std::pair{a.part, a.entry} < std::pair{b.part, b.entry};
  });
  std::vector<Conflict> conflicts;
  conflicts.reserve(found.size());
  for (Placed& placed : found) conflicts.push_back(std::move(placed.conflict));
  return conflicts;
}

}  // namespace decant::publish
