// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "decant/base/text.hpp"
#include "prepared.hpp"

namespace decant::restore {

namespace {

bool fits_something(const model::Selection& selection, const PartWork& part) {
  if (!part.is_archive())
    return std::ranges::any_of(part.files, [&](const model::LooseFile& file) {
      return selection.wants_entry(part.spec, file.path);
    });
  return part.index && std::ranges::any_of(part.index->entries, [&](const model::IndexEntry& entry) {
           return selection.wants_entry(part.spec, installed_path(part, entry.path));
         });
}

}  // namespace

void refuse_words_without_effect(const Prepared& p) {
  const bool all_known = std::ranges::all_of(
      p.parts, [](const PartWork& part) { return !part.selected || !part.is_archive() || part.index; });
  const bool some_selected = std::ranges::any_of(p.parts, &PartWork::selected);
  if (some_selected && !all_known) return;
  for (const auto& word : p.request.only) {
    if (!is_glob(word)) continue;
    const model::Selection alone{{word}, {}, p.manifest};
    if (std::ranges::any_of(p.parts, [&](const PartWork& part) { return fits_something(alone, part); }))
      continue;
    throw Error{ErrorKind::usage,
                fmt::format("--only '{}' fits nothing in the release", escape_for_display(word)),
                "check the spelling; ** spans directories, for instance 'iter_0021923/**'"};
  }
  if (!some_selected)
    throw Error{ErrorKind::usage, "--only and --skip leave nothing of the release", "leave some of them out"};
}

}  // namespace decant::restore
