// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <set>

#include "decant/base/error.hpp"
#include "decant/base/stop.hpp"
#include "decant/base/text.hpp"
#include "decant/cache/inventory.hpp"
#include "decant/fs/sys.hpp"
#include "leftovers.hpp"

namespace decant::cache {
namespace {

constexpr std::string_view k_manifest_name = "release_manifest.json";

fs::RelPath rel(const std::string& path) {
  return fs::RelPath::require(path, "cache");
}

class Pruning {
 public:
  Pruning(const Cache& cache, const Inventory& inventory, const PruneChoice& choice, std::int64_t now,
          const Stop& stop)
      : root_{fs::DirHandle::open(cache.path(), fs::Missing::is_error)},
        inventory_{inventory},
        choice_{choice},
        now_{now},
        stop_{stop} {}

  PruneResult run() {
    if (!choice_.all && !choice_.unreferenced && !choice_.older_than) return {};
    if (!choice_.all && !inventory_.unreadable.empty())
      throw Error{Problem{
          .kind = ErrorKind::state,
          .thing =
              escape_for_display(inventory_.unreadable.front()) + ": a release record that cannot be read",
          .expected = "to know every object that a release needs",
          .found = "a damaged or newer record: nothing was removed",
          .hint = "run decant fetch for that release again or remove the record; --all removes everything"}};
    for (std::size_t i = 0; i < inventory_.releases.size(); ++i) {
      const auto& release = inventory_.releases[i];
      if (!chooses_release(release)) continue;
      if (remove("release", release.path, release.bytes, [&] { remove_release(release); })) gone_.insert(i);
    }
    std::set<hash::Digest> whole;
    std::set<hash::Digest> held;
    for (const auto& partial : inventory_.partials)
      if (partial.is_held) held.insert(partial.digest);
    for (const auto& object : inventory_.objects) {
      if (!chooses_object(object)) {
        whole.insert(object.digest);
      } else if (held.contains(object.digest)) {
        out_.kept.push_back(object.path);
      } else {
        remove("object", object.path, object.size, [&] { remove_object(object); });
      }
    }
    for (const auto& partial : inventory_.partials) {
      if (!chooses_partial(partial) && !whole.contains(partial.digest)) continue;
      if (partial.is_held || !partial.is_ours) {
        out_.kept.push_back(partial.path);
      } else {
        remove("partial", partial.path, partial.landed_bytes, [&] { remove_partial(partial); });
      }
    }
    for (const auto& path : inventory_.leftovers)
      remove("leftover", path, 0, [&] { root_.remove_file(rel(path)); });
    return std::move(out_);
  }

 private:
  bool is_old(std::int64_t time) const { return choice_.older_than && now_ - time > *choice_.older_than; }

  bool chooses_release(const StoredRelease& release) const {
    return choice_.all || (!choice_.unreferenced && is_old(release.modified));
  }

  bool chooses_object(const StoredObject& object) const {
    if (choice_.all) return true;
    for (const auto release : object.mentioned)
      if (!gone_.contains(release)) return false;
    return !choice_.older_than || is_old(object.modified);
  }

  bool chooses_partial(const StoredPartial& partial) const {
    if (choice_.all) return true;
    for (std::size_t i = 0; i < inventory_.releases.size(); ++i) {
      if (gone_.contains(i)) continue;
      for (const auto& part : inventory_.releases[i].lock.parts)
        if (part.digest == partial.digest) return false;
    }
    return !choice_.older_than || is_old(partial.beat);
  }

  // True when it is gone, or would be.
  template <class Remove>
  bool remove(const char* kind, const std::string& path, std::uint64_t bytes, Remove remove_it) {
    stop_.throw_if_requested();
    try {
      if (!choice_.dry_run) remove_it();
    } catch (const Error& error) {
      out_.problems.push_back(error.problem());
      return false;
    }
    out_.removed.push_back({.kind = kind, .path = path, .bytes = bytes});
    return true;
  }

  void remove_release(const StoredRelease& release) const {
    const auto directory = root_.open_dir_if_there(rel(release.path));
    if (!directory) return;
    directory->remove_file(rel(std::string{model::k_lock_name}));
    directory->remove_file(rel(std::string{k_manifest_name}));
    directory->sync();
  }

  // Only the very file that was looked at.
  void remove_object(const StoredObject& object) const {
    const auto path = rel(object.path);
    const auto facts = root_.stat(path);
    if (facts && fs::stamp_of(*facts) == object.stamp) root_.remove_file(path);
  }

  void remove_partial(const StoredPartial& partial) const {
    const auto path = rel(partial.path);
    if (const auto shard = root_.open_dir_if_there(path.parent()))
      discard_partial(*shard, partial.digest, std::string{path.name()});
  }

  const fs::DirHandle root_;
  const Inventory& inventory_;
  const PruneChoice& choice_;
  const std::int64_t now_;
  const Stop& stop_;
  std::set<std::size_t> gone_;  // releases
  PruneResult out_;
};

}  // namespace

std::uint64_t PruneResult::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& item : removed) bytes += item.bytes;
  return bytes;
}

PruneResult prune(const Cache& cache, const Inventory& inventory, const PruneChoice& choice, std::int64_t now,
                  const Stop& stop) {
  return Pruning{cache, inventory, choice, now, stop}.run();
}

}  // namespace decant::cache
