// SPDX-License-Identifier: Apache-2.0
#include "staging.hpp"

#include <algorithm>

namespace decant::restore {

void refuse_lost_ownership(const state::Bundle& bundle) {
  if (!bundle.ownership_lost()) return;
  throw Error{
      Problem{.kind = ErrorKind::busy,
              .thing = "another process took this bundle over, since this one stood still for too long",
              .expected = "nobody else at work",
              .found = "a newer claim in .decant/owner",
              .hint = "wait for the other process, then run the same line again"}};
}

void record_staged(Workshop& shop, state::Bundle& bundle, const OpenRoot& root, PartWork& part,
                   model::PartIndex index, const std::vector<unpack::EntryState>& states) {
  auto& p = shop.prepared;
  refuse_lost_ownership(bundle);
  state::PartRecord record;
  record.part = part.spec.name;
  record.stage = state::Stage::staged;
  record.staging = root.staging_name;
  record.finished = p.services.clock->wall_seconds();
  record.published_before =
      part.record && (part.record->stage == state::Stage::published || part.record->published_before);
  record.marks.resize(index.entries.size());
  const bool merge = part.record && part.index && part.record->marks.size() == states.size();
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (states[i].landed == unpack::Landed::skipped) {
      if (merge) record.marks[i] = part.record->marks[i];
      continue;
    }
    record.marks[i] = {
        .place = states[i].landed == unpack::Landed::staged ? state::Place::ours : state::Place::adopted,
        .stamp = states[i].stamp};
  }
  root.staging.sync_file_system();
  record.index_sha256 = bundle.write_index(part.spec.name, index);
  bundle.write_record(record, p.lock_digest);
  part.record = std::move(record);
  part.index = std::move(index);
  part.needed.clear();
  part.new_files.clear();
  part.stage_all = false;
  part.state = plan::PartState::staged;
}

void drop_unwanted(const Prepared& p, PartWork& part, const fs::DirHandle& tree) {
  auto& marks = part.record->marks;
  for (std::size_t i = marks.size(); i-- > 0;) {
    if (marks[i].place != state::Place::ours) continue;
    const auto path = installed_path(part, part.index->entries[i].path);
    if (p.selection.wants_entry(part.spec, path) || !tree.stat(path)) continue;
    if (part.index->entries[i].type == model::EntryType::dir) {
      // It may be the parent of wanted entries: then it stays, as any parent does.
      const auto directory = tree.open_dir_if_there(path);
      if (directory && directory->list().empty()) tree.remove_dir(path);
    } else {
      tree.remove_file(path);
    }
    marks[i] = {};
  }
}

void keep_only(const fs::DirHandle& tree, const fs::RelPath& below,
               const std::unordered_set<std::string>& wanted) {
  const auto directory = tree.open_dir_if_there(below);
  if (!directory) return;
  for (const auto& name : directory->list()) {
    const auto path = below / fs::RelPath::require(name, "staged name");
    const auto facts = tree.stat(path);
    if (facts && facts->type == fs::FileType::dir) {
      keep_only(tree, path, wanted);
      const auto left = tree.open_dir_if_there(path);
      if (left && left->list().empty()) tree.remove_dir(path);
    } else if (!wanted.contains(path.str())) {
      tree.remove_file(path);
    }
  }
}

}  // namespace decant::restore
