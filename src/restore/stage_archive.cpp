// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "object_supply.hpp"
#include "staging.hpp"

namespace decant::restore {

namespace {

// Which entries to stage: what the selection wants, or just those that are needed.
std::function<bool(const fs::RelPath&)> wanted(const Prepared& p, const PartWork& part) {
  if (part.stage_all) {
    if (p.selection.wants_whole_part(part.spec)) return {};
    return
        [&p, &part](const fs::RelPath& installed) { return p.selection.wants_entry(part.spec, installed); };
  }
  auto paths = std::make_shared<std::unordered_set<std::string>>();
  std::unordered_set<std::string> link_targets;
  for (const auto i : part.needed) {
    const auto& entry = part.index->entries[i];
    paths->insert(installed_path(part, entry.path).str());
    if (!entry.same_as.is_root()) link_targets.insert(entry.same_as.str());
  }
  // A hard link to a file that is there already needs that file: it is compared, and adopted as it is.
  for (std::size_t i = 0; !link_targets.empty() && i < part.index->entries.size(); ++i) {
    const auto& path = part.index->entries[i].path;
    if (part.record->marks[i].place != state::Place::none && link_targets.contains(path.str()))
      paths->insert(installed_path(part, path).str());
  }
  return [paths](const fs::RelPath& installed) { return paths->contains(installed.str()); };
}

struct Attempt {
  std::optional<unpack::UnpackResult> unpacked;
  std::optional<Error> refused;  // integrity: by the archive's rules, or cut short
  hash::Digest digest;           // of the bytes that were read
};

Attempt try_unpack(Workshop& shop, fetch::ObjectReader& reader, const PartWork& part,
                   const unpack::Target& target, const std::shared_ptr<progress::PartCounters>& counters) {
  Attempt attempt;
  unpack::UnpackOptions options;
  options.lanes = shop.lanes;
  options.wants = wanted(shop.prepared, part);
  try {
    attempt.unpacked = unpack::unpack_archive(reader, part.spec, target, options, shop.budget, counters,
                                              shop.prepared.stop());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::integrity) throw;
    attempt.refused = error;
  }
  // Only the digest of the whole part tells a bad archive from bad bytes.
  attempt.digest = drain(reader);
  return attempt;
}

}  // namespace

void stage_archive(Workshop& shop, state::Bundle& bundle, const OpenRoot& root, PartWork& part,
                   const std::shared_ptr<progress::PartCounters>& counters, Others others,
                   report::PartResult& result) {
  auto& p = shop.prepared;
  const auto object = part.object();
  refuse_lost_ownership(bundle);
  const auto directory = root.staging.make_dirs(part_dir(part), 0700);
  const auto tree_name = fs::RelPath::require("tree", "tree");
  const bool adds_to_staged = !part.stage_all && part.record && part.record->stage == state::Stage::staged &&
                              !part.record->staging.empty();
  // Entries that are staged anew beside staged ones go to a tree of their own first: unpack wants an empty
  // one.
  if (adds_to_staged) part.stage_all = true;
  if (part.stage_all && part.record && part.record->stage == state::Stage::staged) part.record.reset();

  const Keep keep = p.request.cache ? Keep::in_cache : Keep::privately;
  ObjectSupply supply{shop, object, &directory, keep, counters, "part " + part.spec.name, others};
  for (;;) {
    directory.remove_tree(tree_name);
    const auto tree = directory.make_dirs(tree_name, 0755);
    counters->phase = progress::PartPhase::fetching;
    counters->entries_done = 0;
    counters->bytes_unpacked = 0;
    if (!supply.is_download()) counters->bytes_done = 0;
    const OnExit count{[&] { result.bytes_from_network = supply.bytes_from_network(); }};
    auto attempt = try_unpack(shop, supply.open(), part, {.stage = &tree, .existing = &root.dir}, counters);
    if (attempt.digest == object.digest) {
      if (attempt.refused) {
        directory.remove_tree(tree_name);
        auto problem = attempt.refused->problem();
        if (problem.hint.empty())
          problem.hint =
              "the part's digest is right, so it was published like this: tell the release's authors";
        throw Error{problem};
      }
      auto& unpacked = *attempt.unpacked;
      unpacked.index.part_digest = object.digest;
      unpacked.index.part_size = object.size;
      shop.bytes_written += unpacked.bytes_written;
      result.entries = unpacked.index.entries.size();
      for (const auto& state : unpacked.states) {
        if (state.landed == unpack::Landed::staged) ++result.written;
        if (state.landed == unpack::Landed::adopted) ++result.adopted;
      }
      take_places(result, supply.from());
      if (!supply.is_download()) result.bytes_from_local = object.size;
      if (supply.is_download() && keep == Keep::in_cache) p.cache->finish(supply.release(), object.digest);
      record_staged(shop, bundle, root, part, std::move(unpacked.index), unpacked.states);
      // Not before: what is not recorded as staged is unpacked again, from these bytes.
      if (supply.is_download() && keep == Keep::privately) supply.release().discard();
      counters->phase = progress::PartPhase::staged;
      return;
    }
    directory.remove_tree(tree_name);
    supply.refuse(attempt.digest);
  }
}

}  // namespace decant::restore
