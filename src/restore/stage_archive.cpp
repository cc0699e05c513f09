// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

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

Attempt try_unpack(Workshop& shop, ObjectInput& input, const PartWork& part, const unpack::Target& target,
                   const std::shared_ptr<progress::PartCounters>& counters) {
  Attempt attempt;
  unpack::UnpackOptions options;
  options.lanes = shop.lanes;
  options.wants = wanted(shop.prepared, part);
  try {
    attempt.unpacked = unpack::unpack_archive(*input.reader, part.spec, target, options, shop.budget,
                                              counters, shop.prepared.stop());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::integrity) throw;
    attempt.refused = error;
  }
  // Only the digest of the whole part tells a bad archive from bad bytes.
  attempt.digest = drain(*input.reader);
  return attempt;
}

std::string origin_of(const ObjectInput& input, const Workshop& shop) {
  switch (input.kind) {
    case InputKind::cached:
      return "the cache " + shop.prepared.cache->path();
    case InputKind::in_place:
      return "the directory";
    case InputKind::download:
      return input.download->source_name().empty() ? "an earlier run" : input.download->source_name();
  }
  return {};
}

}  // namespace

void stage_archive(Workshop& shop, state::Bundle& bundle, const OpenRoot& root, PartWork& part,
                   const std::shared_ptr<progress::PartCounters>& counters, report::PartResult& result) {
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

  std::optional<hash::Digest> wrong_before;
  bool skip_cached = false;
  ObjectInput input;
  for (int tries = 1;; ++tries) {
    directory.remove_tree(tree_name);
    const auto tree = directory.make_dirs(tree_name, 0755);
    counters->phase = progress::PartPhase::fetching;
    counters->entries_done = 0;
    counters->bytes_unpacked = 0;
    if (!input.download) {
      counters->bytes_done = 0;
      input = shop.open(object, directory, p.request.cache.has_value(), skip_cached, counters);
    } else {
      input.reader = fetch::read_download(input.download, object, shop.budget, p.stop());
    }
    auto attempt = try_unpack(shop, input, part, {.stage = &tree, .existing = &root.dir}, counters);
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
      if (input.download) {
        result.bytes_from_network = input.download->fetched_bytes();
        result.source = input.download->source_name();
        if (p.request.cache) p.cache->finish(input.download->release(), object.digest);
      } else {
        result.bytes_from_local = object.size;
        result.source = input.kind == InputKind::cached ? "cache" : p.repository().objects().name();
      }
      record_staged(shop, bundle, root, part, std::move(unpacked.index), unpacked.states);
      // Not before: what is not recorded as staged is unpacked again, from these bytes.
      if (input.download && !p.request.cache) input.download->release().discard();
      counters->phase = progress::PartPhase::staged;
      return;
    }
    directory.remove_tree(tree_name);
    auto problem = wrong_bytes("the part's bytes", object.digest, attempt.digest, origin_of(input, shop));
    switch (input.kind) {
      case InputKind::cached:
        p.reporter().message(progress::Level::warning,
                             fmt::format("part {}: the cached file is damaged{}", part.spec.name,
                                         p.request.offline ? "" : "; it is fetched again"));
        p.cache->remove_bad_final(object.digest, input.fd.get());
        if (p.request.offline) {
          problem.hint = "run decant fetch where there is a network: it brings the part anew";
          throw Error{problem};
        }
        skip_cached = true;
        input = {};
        continue;
      case InputKind::in_place:
        problem.hint = "the directory's copy is damaged or of another release; copy it anew";
        throw Error{problem};
      case InputKind::download:
        result.bytes_from_network = input.download->fetched_bytes();
        if (!wrong_before) {
          wrong_before = attempt.digest;
          p.reporter().message(
              progress::Level::warning,
              fmt::format("part {}: SHA-256 differs; it is fetched once more", part.spec.name));
          input.download->refetch_all();
          input.reader.reset();
          continue;
        }
        input.download->release().discard();
        refuse_wrong_bytes(std::move(problem), *wrong_before == attempt.digest);
    }
  }
}

}  // namespace decant::restore
