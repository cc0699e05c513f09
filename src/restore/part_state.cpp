// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"
#include "decant/publish/publish.hpp"
#include "prepared.hpp"

namespace decant::restore {

namespace {

bool is_wanted(const Prepared& p, const PartWork& part, const model::IndexEntry& entry) {
  return p.selection.wants_entry(part.spec, installed_path(part, entry.path));
}

fs::RelPath prefix_of(const PartWork& part) {
  return part.is_archive() ? part.spec.under : fs::RelPath{};
}

state::Marks wanted_marks(const Prepared& p, const PartWork& part) {
  return restore::wanted_marks(p.selection, part.spec, *part.index, part.record->marks);
}

std::vector<std::size_t> never_restored(const Prepared& p, const PartWork& part) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < part.index->entries.size(); ++i)
    if (part.record->marks[i].place == state::Place::none && is_wanted(p, part, part.index->entries[i]))
      out.push_back(i);
  return out;
}

// A published entry whose stamp changed: is it still the same content? Then its mark is renewed in memory.
bool is_same_content(const fs::DirHandle& root, const PartWork& part, std::size_t i, state::EntryMark& mark,
                     const Stop& stop) {
  const auto& entry = part.index->entries[i];
  const auto path = installed_path(part, entry.path);
  if (entry.type != model::EntryType::file) {
    const auto facts = root.stat(path);
    const bool is_link = entry.type == model::EntryType::symlink;
    if (!facts || facts->type != (is_link ? fs::FileType::symlink : fs::FileType::dir)) return false;
    if (is_link && root.read_link(path) != entry.target) return false;
    mark.stamp = fs::stamp_of(*facts);
    return true;
  }
  fs::EntryFacts facts;
  const auto fd = root.open_file_if_there(path, &facts);
  if (!fd || facts.size != entry.size || facts.owner_executable() != entry.executable) return false;
  if (hash::hash_file(fd->get(), entry.size, hash::Algorithm::sha256, path.str(), stop) != entry.sha256)
    return false;
  mark.stamp = fs::stamp_of(facts);
  return true;
}

// All files and links are gone; directories that other parts share may be left.
bool is_wiped(const PartWork& part, const state::Marks& marks, const publish::PresenceReport& presence) {
  if (presence.missing.empty()) return false;
  std::size_t content = 0;
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (marks[i].place != state::Place::none && part.index->entries[i].type != model::EntryType::dir)
      ++content;
  const auto gone = std::ranges::count_if(
      presence.missing, [&](std::size_t i) { return part.index->entries[i].type != model::EntryType::dir; });
  return content > 0 ? static_cast<std::size_t>(gone) == content
                     : presence.presence == publish::Presence::none;
}

void look_at_published(Prepared& p, PartWork& part, const fs::DirHandle& root) {
  const auto marks = wanted_marks(p, part);
  const auto presence = publish::look(root, prefix_of(part), *part.index, marks);
  // A wiped root, whatever this run selects: the part is restored.
  if (is_wiped(part, marks, presence) &&
      is_wiped(part, part.record->marks,
               publish::look(root, prefix_of(part), *part.index, part.record->marks))) {
    part.stage_all = true;
    part.record.reset();
    return;
  }
  part.state = plan::PartState::published;
  part.needed = never_restored(p, part);
  for (const auto i : presence.changed) {
    p.stop().throw_if_requested();
    const auto& entry = part.index->entries[i];
    if (is_same_content(root, part, i, part.record->marks[i], p.stop())) {
      part.marks_renewed = true;
      continue;
    }
    part.conflicts.push_back({.part = part.spec.name,
                              .root = part.spec.root,
                              .path = installed_path(part, entry.path).str(),
                              .expected = "what was restored",
                              .found = "other content, type or executable bit"});
  }
  if (presence.missing.empty()) return;
  part.entries_deleted = presence.missing.size();
  if (p.request.reextract) {
    part.needed.insert(part.needed.end(), presence.missing.begin(), presence.missing.end());
    std::ranges::sort(part.needed);
    return;
  }
  const auto first = installed_path(part, part.index->entries[presence.missing.front()].path);
  part.problem =
      Problem{.kind = ErrorKind::incomplete,
              .thing = fmt::format("part {}: {} of {} restored entries are gone (first: {})", part.spec.name,
                                   format_count(presence.missing.size()), format_count(presence.expected),
                                   escape_for_display(first.str())),
              .expected = "everything that was restored",
              .found = fmt::format("{} missing", format_count(presence.missing.size())),
              .hint = "to put them back run the same line with --reextract"};
}

void look_at_staged(Prepared& p, PartWork& part, const std::optional<fs::DirHandle>& root,
                    const std::optional<fs::DirHandle>& staging) {
  const auto tree = staging ? staging->open_dir_if_there(tree_dir(part)) : std::nullopt;
  auto marks = wanted_marks(p, part);
  part.needed = never_restored(p, part);
  std::vector<std::size_t> elsewhere;
  if (tree) {
    const auto staged = publish::look(*tree, prefix_of(part), *part.index, marks);
    elsewhere = staged.missing;
    elsewhere.insert(elsewhere.end(), staged.changed.begin(), staged.changed.end());
  } else {
    for (std::size_t i = 0; i < marks.size(); ++i)
      if (marks[i].place != state::Place::none) elsewhere.push_back(i);
  }
  // Adopted entries, and those that a killed publish has moved already, are in the root.
  state::Marks rest(marks.size());
  for (const auto i : elsewhere) rest[i] = marks[i];
  if (root) {
    const auto there = publish::look(*root, prefix_of(part), *part.index, rest);
    part.needed.insert(part.needed.end(), there.missing.begin(), there.missing.end());
    part.needed.insert(part.needed.end(), there.changed.begin(), there.changed.end());
  } else {
    part.needed.insert(part.needed.end(), elsewhere.begin(), elsewhere.end());
  }
  std::ranges::sort(part.needed);
  if (!tree) {
    // Without a staging tree there is nothing to add to: what is not in the root is staged anew.
    part.record->staging.clear();
  }
  part.state = part.needed.empty() ? plan::PartState::staged : plan::PartState::missing;
}

void find_new_files(PartWork& part) {
  std::unordered_set<std::string> known;
  for (const auto& entry : part.index->entries) known.insert(entry.path.str());
  for (std::size_t i = 0; i < part.files.size(); ++i)
    if (!known.contains(part.files[i].path.str())) part.new_files.push_back(i);
}

// The archive's own bytes, by name and size in the cache.
void look_for_download(const Prepared& p, PartWork& part) {
  if (!p.cache) {
    // Without a cache the download lies in staging.
    const auto& staging = p.staging_dirs.at(part.spec.root);
    const auto directory = staging ? staging->open_dir_if_there(part_dir(part)) : std::nullopt;
    if (directory)
      part.present_bytes = cache::Partial::landed_bytes_of_leftovers(*directory, part.spec.file.digest->hex(),
                                                                     *part.spec.file.size);
    if (part.present_bytes > 0 && part.state == plan::PartState::missing)
      part.state = plan::PartState::partial;
    return;
  }
  const auto facts = p.cache->look(*part.spec.file.digest, *part.spec.file.size);
  part.present_bytes = facts.complete ? part.size() : facts.landed_bytes;
  if (part.state != plan::PartState::missing) return;
  if (facts.complete) part.state = plan::PartState::cached;
  if (!facts.complete && facts.landed_bytes > 0) part.state = plan::PartState::partial;
}

// Files that an earlier run has staged, that are in the root or the cache, by size alone, and what has landed
// of others.
void count_files(const Prepared& p, PartWork& part) {
  const auto& root = p.root_dirs.at(part.spec.root);
  const auto& staging = p.staging_dirs.at(part.spec.root);
  const auto tree = staging ? staging->open_dir_if_there(tree_dir(part)) : std::nullopt;
  const auto arriving = staging ? staging->open_dir_if_there(arriving_dir(part)) : std::nullopt;
  const bool something_arrives = arriving && !arriving->list().empty();
  std::uint64_t complete = 0;
  for (const auto& file : part.files) {
    if (is_placed(root, file) || is_placed(tree, file)) {
      part.in_place_bytes += file.size;
      complete += file.size;
    } else if (p.cache && p.cache->look(file.digest, file.size).complete) {
      complete += file.size;
    } else if (p.cache && p.request.cache_given) {
      part.present_bytes += p.cache->look(file.digest, file.size).landed_bytes;
    } else if (something_arrives) {
      part.present_bytes +=
          cache::Partial::landed_bytes_of_leftovers(*arriving, file.digest.hex(), file.size);
    }
  }
  part.present_bytes += complete;
  if (part.state != plan::PartState::missing || part.present_bytes == 0) return;
  part.state = complete == part.size() ? plan::PartState::cached : plan::PartState::partial;
}

}  // namespace

void look_at_parts(Prepared& p) {
  auto& roots = p.root_dirs;
  auto& stagings = p.staging_dirs;
  const auto recorded = p.bundle ? p.bundle->read_roots().value_or(state::RootMap{}) : state::RootMap{};
  for (const auto& [name, place] : p.roots) {
    roots[name] = fs::DirHandle::open_if_there(place.path);
    if (p.bundle && roots[name]) {
      std::string relative;
      stagings[name] = p.bundle->find_staging(name, *roots[name], p.lock_digest, &relative);
    } else {
      stagings[name] = std::nullopt;
    }
  }
  for (auto& part : p.parts) {
    p.stop().throw_if_requested();
    if (!part.selected) {
      part.state = plan::PartState::skipped;
      continue;
    }
    const auto& root_name = part.spec.root;
    const auto it = recorded.find(root_name);
    const bool same_root = it == recorded.end() || it->second == p.roots.at(root_name).recorded;
    if (p.bundle && same_root) part.record = p.bundle->read_record(part.spec.name, p.lock_digest);
    if (part.record) part.index = p.bundle->read_index(part.spec.name, part.record->index_sha256);
    if (part.record && (!part.index || part.index->entries.size() != part.record->marks.size())) {
      part.record.reset();
      part.index.reset();
    }
    if (!part.record) {
      part.stage_all = true;
    } else if (part.record->stage == state::Stage::published) {
      if (roots.at(root_name)) {
        look_at_published(p, part, *roots.at(root_name));
      } else {
        part.stage_all = true;
        part.record.reset();
      }
    } else {
      look_at_staged(p, part, roots.at(root_name), stagings.at(root_name));
    }
    if (part.index && !part.stage_all && !part.is_archive()) find_new_files(part);
    if (part.has_needs()) part.state = plan::PartState::missing;
    if (!part.has_needs()) {
      part.present_bytes = part.size();
      continue;
    }
    if (part.is_archive()) {
      look_for_download(p, part);
    } else {
      count_files(p, part);
    }
  }
}

bool is_placed(const std::optional<fs::DirHandle>& base, const model::LooseFile& file) {
  const auto facts = base ? base->stat(file.path) : std::nullopt;
  return facts && facts->type == fs::FileType::file && facts->size == file.size;
}

state::Marks wanted_marks(const model::Selection& selection, const model::PartSpec& spec,
                          const model::PartIndex& index, state::Marks marks) {
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const auto& path = index.entries[i].path;
    const auto installed = spec.kind == model::PartKind::unpack ? spec.under / path : path;
    if (!selection.wants_entry(spec, installed)) marks[i] = {};
  }
  return marks;
}

}  // namespace decant::restore
