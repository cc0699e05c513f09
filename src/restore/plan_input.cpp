// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "decant/base/text.hpp"
#include "places.hpp"

namespace decant::restore {

namespace {

std::uint64_t memory_available() {
  std::ifstream meminfo{"/proc/meminfo"};
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (meminfo >> key >> kib >> unit)
    if (key == "MemAvailable:") return kib * k_kib;
  return 0;
}

// The files of a part that are neither in place, staged nor in the cache, until `visit` says false.
void each_missing_file(const Prepared& p, const PartWork& part,
                       const std::function<bool(const source::Object&)>& visit) {
  const auto& root = p.root_dirs.at(part.spec.root);
  const auto& staging = p.staging_dirs.at(part.spec.root);
  const auto tree = staging ? staging->open_dir_if_there(tree_dir(part)) : std::nullopt;
  for (const auto& file : part.files) {
    if (is_placed(root, file) || is_placed(tree, file)) continue;
    if (p.cache && p.cache->look(file.digest, file.size).complete) continue;
    if (!visit({.path = file.repo_path, .size = file.size, .digest = file.digest})) return;
  }
}

// The first object that would have to come over a network.
std::optional<source::Object> first_missing(const Prepared& p) {
  std::optional<source::Object> first;
  for (const auto& part : p.parts) {
    if (!part.has_work()) continue;
    if (part.is_archive() && part.state == plan::PartState::cached) continue;
    if (part.is_archive()) return part.object();
    each_missing_file(p, part, [&](const source::Object& object) {
      // An empty file comes from nowhere.
      if ((object.size > 0 || p.request.offline) && local_holder(p, object) == nullptr) first = object;
      return !first;
    });
    if (first) return first;
  }
  return first;
}

void ask_for_access(Prepared& p, plan::PlanInput& input) {
  if (!p.problems.empty()) {
    input.access = "not checked: the release cannot be restored as it is";
    return;
  }
  auto access = check_access(p, first_missing(p));
  input.access = std::move(access.words);
  if (!access.problem) return;
  const bool is_unknown = access.problem->kind == ErrorKind::usage;  // a source that nobody names
  if (is_unknown) input.access = "not checked";
  // The conflicts come first: they stand whatever the line says.
  if (!is_unknown || input.conflicts.empty()) input.problems.push_back(std::move(*access.problem));
}

// What further local places hold of what is missing, by name and size.
void look_elsewhere(Prepared& p) {
  if (std::ranges::none_of(p.services.places, &source::Source::is_local)) return;
  std::map<std::string, std::uint64_t> held;
  const auto count = [&](PartWork& part, const source::Object& object) {
    const auto* place = local_holder(p, object);
    if (place == nullptr) return false;
    const std::string name = place->name();
    if (std::ranges::find(part.elsewhere, name) == part.elsewhere.end()) part.elsewhere.push_back(name);
    part.elsewhere_bytes += object.size;
    held[name] += object.size;
    return true;
  };
  for (auto& part : p.parts) {
    p.stop().throw_if_requested();
    part.elsewhere_bytes = 0;
    part.elsewhere.clear();
    if (!part.has_work() || part.state == plan::PartState::cached) continue;
    if (part.is_archive()) {
      if (count(part, part.object())) {
        part.present_bytes = part.size();
        part.state = plan::PartState::cached;
      }
      continue;
    }
    bool all = true;
    each_missing_file(p, part, [&](const source::Object& object) {
      if (!count(part, object)) all = false;
      return true;
    });
    const std::uint64_t here = std::min(part.present_bytes, part.size() - part.elsewhere_bytes);
    part.present_bytes = here + part.elsewhere_bytes;
    if (part.elsewhere_bytes == 0) continue;
    part.state = all ? plan::PartState::cached : plan::PartState::partial;
    if (all) part.present_bytes = part.size();
  }
  for (const auto* place : p.services.places) {
    if (!place->is_local()) continue;
    const auto it = held.find(place->name());
    p.place_facts.push_back(
        {.place = place->name(),
         .answer = it == held.end() ? std::string{"holds nothing of what is missing"}
                                    : fmt::format("holds {} of what is missing", format_size(it->second))});
  }
}

plan::PartFacts facts_of(const Prepared& p, const PartWork& part) {
  plan::PartFacts facts;
  facts.name = part.spec.name;
  facts.shown_path = part.spec.kind == model::PartKind::files
                         ? (p.lock.release_path.is_root() ? "(all files)" : p.lock.release_path.str() + "/")
                         : part.spec.file.path.str();
  facts.kind = part.spec.kind;
  facts.root = part.spec.root;
  facts.size = part.size();
  facts.files = part.is_archive() ? 1 : part.files.size();
  facts.state = part.state;
  facts.present_bytes = part.present_bytes;
  facts.in_place_bytes = part.in_place_bytes;
  facts.elsewhere_bytes = part.elsewhere_bytes;
  facts.elsewhere = part.elsewhere;
  const bool in_place = p.lock.source.kind == model::SourceKind::directory;
  facts.keeps_download = part.is_archive()
                             ? p.request.cache.has_value() && !in_place
                             : p.request.cache_given && p.request.cache.has_value() && !in_place;
  // Read where it is: nothing is fetched, nothing kept.
  if (in_place && part.selected) {
    facts.present_bytes = facts.size;
    if (facts.state == plan::PartState::missing || facts.state == plan::PartState::partial)
      facts.state = plan::PartState::cached;
  }
  // Read in place as well: nothing of it is kept.
  if (part.is_archive() && !part.elsewhere.empty()) facts.keeps_download = false;
  facts.partial_selection = part.selected && !p.selection.wants_whole_part(part.spec);
  facts.window_log = part.spec.window_log;
  if (!part.is_archive()) {
    facts.unpacked_bytes = facts.size;
    facts.entries = part.files.size();
    facts.has_list = true;
  } else if (part.index) {
    std::uint64_t bytes = 0;
    if (part.stage_all) {
      for (const auto& entry : part.index->entries) bytes += entry.size;
    } else {
      for (const auto i : part.needed) bytes += part.index->entries[i].size;
    }
    facts.unpacked_bytes = bytes;
    facts.entries = part.index->entries.size();
    facts.has_list = true;
  } else {
    facts.unpacked_bytes = part.spec.bytes;
    facts.entries = part.spec.entries;
  }
  return facts;
}

}  // namespace

plan::Plan make_plan(Prepared& p) {
  if (p.bundle)
    if (auto obstacle = p.bundle->obstacle()) p.problems.push_back(*std::move(obstacle));
  refuse_words_without_effect(p);
  return plan_of(p);
}

plan::Plan plan_of(Prepared& p) {
  plan::PlanInput input;
  const auto& source = p.lock.source;
  input.headline_source =
      source.kind == model::SourceKind::hub
          ? fmt::format("{}{} at {}", source.repo_type == model::RepoType::dataset ? "datasets/" : "",
                        source.repo, source.endpoint)
      : source.kind == model::SourceKind::mirror
          ? source.endpoint
          : (p.has_repository() ? p.repository().describe() : std::string{to_string(source.kind)});
  input.release_id = p.lock.release_id;
  input.commit = source.commit;
  input.requested_revision = source.requested_revision;
  input.loose = p.manifest.loose;
  p.place_facts.clear();
  p.unreachable.clear();
  look_elsewhere(p);
  for (const auto& part : p.parts) {
    input.parts.push_back(facts_of(p, part));
    if (part.problem) input.problems.push_back(*part.problem);
  }
  for (const auto& [name, place] : p.roots) {
    input.root_disks.emplace(name, fs::disk_facts(place.path));
    input.root_paths.emplace(name, place.path);
  }
  for (const auto& root : p.manifest.roots)
    if (!root.suggest.empty() && !p.request.roots.contains(root.name))
      input.root_suggestions.emplace(root.name, root.suggest);
  // A cache that is only read from needs neither space nor permission.
  const bool fills_cache = std::ranges::any_of(input.parts, [](const plan::PartFacts& part) {
    return part.keeps_download &&
           (part.state == plan::PartState::missing || part.state == plan::PartState::partial);
  });
  if (p.request.cache && fills_cache) {
    input.cache_disk = fs::disk_facts(*p.request.cache);
    input.cache_path = *p.request.cache;
  }
  input.memory_budget = p.request.memory;
  input.memory_available = memory_available();
  input.problems.insert(input.problems.end(), p.problems.begin(), p.problems.end());
  p.conflicts = known_conflicts(p);
  for (const auto& conflict : p.conflicts) {
    if (!conflict.other_part.empty()) ++input.conflicts_between_parts;
    input.conflicts.push_back(fmt::format(
        "{}: expected {}, found {}", escape_for_display(p.roots.at(conflict.root).path + "/" + conflict.path),
        conflict.expected, conflict.found));
  }
  ask_for_access(p, input);
  input.places = p.place_facts;
  input.command_line = p.request.command_line ? p.request.command_line(source.commit) : std::string{};
  return plan::make_plan(std::move(input));
}

}  // namespace decant::restore
