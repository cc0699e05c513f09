// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"
#include "decant/base/error.hpp"
#include "decant/publish/publish.hpp"
#include "entries.hpp"
#include "parents.hpp"

namespace decant::publish {

PresenceReport look(const fs::DirHandle& base, const fs::RelPath& under, const model::PartIndex& index,
                    const state::Marks& marks) {
  require_parallel(index, marks);
  PresenceReport report;
  Parents parents{&base};
  Locator locator{under};
  const Parents::Found* parent = nullptr;
  for (std::size_t i = 0; i < index.entries.size(); ++i) {
    if (marks[i].place == state::Place::none) continue;
    const model::IndexEntry& entry = index.entries[i];
    ++report.expected;
    if (locator.move_to(entry) || parent == nullptr) parent = &parents.at(locator.directory());
    const auto facts = parent->dir ? parent->dir->stat(locator.name()) : std::nullopt;
    if (!facts) {
      report.missing.push_back(i);
    } else if (facts->type != type_of(entry) ||
               (entry.type == model::EntryType::file && facts->owner_executable() != entry.executable) ||
               (entry.type != model::EntryType::dir && fs::stamp_of(*facts) != marks[i].stamp)) {
      report.changed.push_back(i);
    }
  }
  report.presence = Presence::some;
  if (report.missing.size() == report.expected) report.presence = Presence::none;
  if (report.missing.empty()) report.presence = Presence::all;
  return report;
}

}  // namespace decant::publish
