// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "decant/base/text.hpp"
#include "prepared.hpp"

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

// The first object that would have to come from the source.
std::optional<source::Object> first_missing(const Prepared& p) {
  for (const auto& part : p.parts) {
    if (!part.has_work()) continue;
    if (part.is_archive() && part.state == plan::PartState::cached) continue;
    if (part.is_archive())
      return source::Object{
          .path = part.spec.file.path, .size = *part.spec.file.size, .digest = *part.spec.file.digest};
    const auto& root = p.root_dirs.at(part.spec.root);
    const auto& staging = p.staging_dirs.at(part.spec.root);
    const auto tree = staging ? staging->open_dir_if_there(tree_dir(part)) : std::nullopt;
    for (const auto& file : part.files) {
      if (is_placed(root, file) || is_placed(tree, file)) continue;
      if (p.cache && p.cache->look(file.digest, file.size).complete) continue;
      return source::Object{.path = file.repo_path, .size = file.size, .digest = file.digest};
    }
  }
  return std::nullopt;
}

void check_access(Prepared& p, plan::PlanInput& input) {
  if (!p.problems.empty()) {
    input.access = "not checked: the release cannot be restored as it is";
    return;
  }
  const auto object = first_missing(p);
  if (!object) {
    input.access = "not needed: nothing to fetch";
    return;
  }
  try {
    if (p.request.offline) {
      input.problems.push_back({.kind = ErrorKind::incomplete,
                                .thing = "not everything is in the cache, and --offline forbids to fetch it",
                                .expected = "all parts in the cache",
                                .found = "at least " + object->path.str() + " missing",
                                .hint = "run decant fetch where there is a network"});
      input.access = "not checked: offline";
      return;
    }
    p.repository().probe(*object);
    input.access = "granted";
  } catch (const Error& error) {
    const bool is_unknown = error.kind() == ErrorKind::usage;  // a source that nobody names
    input.access = is_unknown ? "not checked" : "refused";
    // The conflicts come first: they stand whatever the line says.
    if (!is_unknown || input.conflicts.empty()) input.problems.push_back(error.problem());
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
          : (p.has_repository() ? p.repository().describe() : std::string{to_string(source.kind)});
  input.release_id = p.lock.release_id;
  input.commit = source.commit;
  input.requested_revision = source.requested_revision;
  input.loose = p.manifest.loose;
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
  const bool uses_cache = std::ranges::any_of(input.parts, [](const plan::PartFacts& part) {
    return part.keeps_download || part.state == plan::PartState::cached;
  });
  if (p.request.cache && uses_cache) {
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
  check_access(p, input);
  input.command_line = p.request.command_line ? p.request.command_line(source.commit) : std::string{};
  return plan::make_plan(std::move(input));
}

}  // namespace decant::restore
