// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"
#include "decant/publish/publish.hpp"
#include "prepared.hpp"

namespace decant::restore {

OpenedBundle open_bundle(const std::string& path) {
  auto bundle = state::Bundle::open_if_there(path);
  if (!bundle)
    throw Error{ErrorKind::usage,
                fmt::format("--bundle {}: there is no such directory", escape_for_display(path)),
                "name the directory that decant restore filled"};
  auto lock = bundle->read_lock();
  if (!lock)
    throw Error{ErrorKind::usage,
                fmt::format("--bundle {}: it holds no {}", escape_for_display(path), model::k_lock_name),
                "name the directory that decant restore filled"};
  model::ReleaseManifest manifest;
  if (lock->manifest_origin == model::ManifestOrigin::none) {
    manifest = manifest_from_locked_files(*lock);
  } else {
    auto bytes = bundle->read_manifest(lock->manifest_sha256);
    if (!bytes)
      throw Error{Problem{.kind = ErrorKind::state,
                          .thing = fmt::format("{}: the locked manifest is not in .decant/release/",
                                               escape_for_display(path)),
                          .expected = "SHA-256 " + lock->manifest_sha256.hex(),
                          .found = "no such file, or other bytes",
                          .hint = "run decant restore on this bundle again: it brings the manifest back"}};
    manifest = model::parse_manifest(*bytes, "the locked manifest",
                                     lock->manifest_origin == model::ManifestOrigin::local
                                         ? model::Completeness::may_lack_digests
                                         : model::Completeness::full);
    for (auto& part : manifest.parts)
      for (const auto& locked : lock->parts)
        if (locked.name == part.name) {
          part.file.size = locked.size;
          part.file.digest = locked.digest;
        }
  }
  const auto words = bundle->read_selection(model::lock_digest(*lock)).value_or(state::SelectionWords{});
  model::Selection selection{words.only, words.skip, manifest};
  std::map<std::string, std::string> roots;
  const auto absolute = std::filesystem::absolute(path).lexically_normal().string();
  roots["bundle"] = absolute;
  for (const auto& [name, place] : bundle->read_roots().value_or(state::RootMap{}))
    if (name != "bundle") roots[name] = bundle->root_path(place);
  const bool subset = !selection.is_everything();
  return {.bundle = std::move(*bundle),
          .lock = std::move(*lock),
          .manifest = std::move(manifest),
          .selection = std::move(selection),
          .subset = subset,
          .root_paths = std::move(roots)};
}

std::vector<PartStatus> status(const OpenedBundle& opened, const std::optional<cache::Cache>& cache) {
  std::vector<PartStatus> out;
  const auto lock = model::lock_digest(opened.lock);
  for (const auto& spec : opened.manifest.parts) {
    PartStatus part;
    part.name = spec.name;
    part.shown_path = spec.kind == model::PartKind::files ? "(all files)" : spec.file.path.str();
    part.size = spec.file.size.value_or(0);
    for (const auto& file : spec.files) part.size += file.size;
    if (!opened.selection.wants_part(spec)) {
      part.state = plan::PartState::skipped;
      out.push_back(std::move(part));
      continue;
    }
    const auto record = opened.bundle.read_record(spec.name, lock);
    const auto index = record ? opened.bundle.read_index(spec.name, record->index_sha256) : std::nullopt;
    if (record && index && index->entries.size() == record->marks.size()) {
      const auto marks = wanted_marks(opened.selection, spec, *index, record->marks);
      part.entries = static_cast<std::uint64_t>(std::ranges::count_if(
          marks, [](const state::EntryMark& mark) { return mark.place != state::Place::none; }));
      if (part.entries == 0 && !index->entries.empty() && !opened.selection.is_everything()) {
        part.state = plan::PartState::skipped;  // a glob wants nothing of it
        out.push_back(std::move(part));
        continue;
      }
      part.state =
          record->stage == state::Stage::published ? plan::PartState::published : plan::PartState::staged;
      part.present_bytes = part.size;
      if (record->stage == state::Stage::published) {
        part.since = record->finished;
        const auto place = opened.root_paths.find(spec.root);
        const auto root =
            place == opened.root_paths.end() ? std::nullopt : fs::DirHandle::open_if_there(place->second);
        if (root) {
          const auto look = publish::look(
              *root, spec.kind == model::PartKind::unpack ? spec.under : fs::RelPath{}, *index, marks);
          part.missing_entries = look.missing.size();
          part.changed_entries = look.changed.size();
        } else {
          part.missing_entries = part.entries;
        }
      }
    } else if (cache && spec.kind != model::PartKind::files && spec.file.digest) {
      const auto facts = cache->look(*spec.file.digest, part.size);
      part.present_bytes = facts.complete ? part.size : facts.landed_bytes;
      part.state = facts.complete           ? plan::PartState::cached
                   : facts.landed_bytes > 0 ? plan::PartState::partial
                                            : plan::PartState::missing;
    }
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace decant::restore
