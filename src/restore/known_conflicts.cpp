// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <deque>
#include <unordered_set>

#include "prepared.hpp"

namespace decant::restore {

namespace {

fs::RelPath prefix_of(const PartWork& part) {
  return part.is_archive() ? part.spec.under : fs::RelPath{};
}

// What would be staged of a part whose index is known, as marks that say so.
state::Marks marks_of_needs(const Prepared& p, const PartWork& part) {
  const state::EntryMark staged{.place = state::Place::ours, .stamp = {}};
  if (part.stage_all)
    return wanted_marks(p.selection, part.spec, *part.index,
                        state::Marks(part.index->entries.size(), staged));
  state::Marks marks(part.index->entries.size());
  for (const auto i : part.needed) marks[i] = staged;
  return marks;
}

std::string describe(const fs::EntryFacts& facts) {
  switch (facts.type) {
    case fs::FileType::file:
      return fmt::format("file of {} bytes", facts.size);
    case fs::FileType::dir:
      return "directory";
    case fs::FileType::symlink:
      return "symbolic link";
    default:
      return "neither file nor directory";
  }
}

// Files whose content nobody knows before they have come: by type and size.
class FileClashes {
 public:
  FileClashes(const PartWork& part, const fs::DirHandle& root, std::vector<report::Conflict>& out)
      : part_{part}, root_{root}, out_{out} {}

  void look_at(const model::LooseFile& file) {
    if (is_below_other_than_directory(file.path)) return;
    const auto facts = root_.stat(file.path);
    if (!facts || (facts->type == fs::FileType::file && facts->size == file.size)) return;
    add(file.path, fmt::format("file of {} bytes", file.size), describe(*facts));
  }

 private:
  bool is_below_other_than_directory(const fs::RelPath& path) {
    if (path.depth() < 2) return false;
    const auto parent = path.parent();
    if (open_.contains(parent.str())) return false;
    if (is_below_other_than_directory(parent)) return true;
    const auto facts = root_.stat(parent);
    if (!facts || facts->type == fs::FileType::dir) {
      open_.insert(parent.str());
      return false;
    }
    if (told_.insert(parent.str()).second) add(parent, "directory", describe(*facts));
    return true;
  }
  void add(const fs::RelPath& path, std::string expected, std::string found) {
    out_.push_back({.part = part_.spec.name,
                    .root = part_.spec.root,
                    .path = path.str(),
                    .expected = std::move(expected),
                    .found = std::move(found),
                    .other_part = {}});
  }

  const PartWork& part_;
  const fs::DirHandle& root_;
  std::vector<report::Conflict>& out_;
  std::unordered_set<std::string> open_;  // directories, or not there at all
  std::unordered_set<std::string> told_;
};

}  // namespace

report::Conflict to_report(const publish::Conflict& conflict) {
  return {.part = conflict.part,
          .root = conflict.root,
          .path = conflict.path.str(),
          .expected = conflict.expected,
          .found = conflict.found,
          .other_part = conflict.other_part};
}

std::vector<report::Conflict> known_conflicts(const Prepared& p) {
  std::vector<report::Conflict> out;
  std::deque<fs::DirHandle> trees;
  std::deque<state::Marks> marks;
  std::vector<publish::StagedPart> known;
  for (const auto& part : p.parts) {
    out.insert(out.end(), part.conflicts.begin(), part.conflicts.end());
    if (!part.selected || part.problem || part.spec.root.empty() || p.roots.empty()) continue;
    const auto& root = p.root_dirs.at(part.spec.root);
    if (!root) continue;
    publish::StagedPart staged{.name = part.spec.name,
                               .root_name = part.spec.root,
                               .root = &*root,
                               .stage = nullptr,
                               .under = prefix_of(part),
                               .index = part.index ? &*part.index : nullptr,
                               .marks = nullptr};
    if (part.state == plan::PartState::staged) {
      // A staged part whose tree is gone lies in the root already.
      const auto& staging = p.staging_dirs.at(part.spec.root);
      auto tree = staging ? staging->open_dir_if_there(tree_dir(part)) : std::nullopt;
      if (!tree) continue;
      staged.stage = &trees.emplace_back(std::move(*tree));
      staged.marks =
          &marks.emplace_back(wanted_marks(p.selection, part.spec, *part.index, part.record->marks));
    } else if (part.is_archive() && part.index && part.has_work()) {
      staged.marks = &marks.emplace_back(marks_of_needs(p, part));
    } else {
      FileClashes clashes{part, *root, out};
      if (!part.is_archive() && part.has_work())
        for (const auto& file : part.files) clashes.look_at(file);
      continue;
    }
    known.push_back(std::move(staged));
  }
  for (const auto& conflict : publish::find_conflicts(known, p.stop())) out.push_back(to_report(conflict));
  for (auto& conflict : conflicts_of_nested_roots(p)) out.push_back(std::move(conflict));
  return out;
}

}  // namespace decant::restore
