// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decant/base/error.hpp"
#include "decant/cache/cache.hpp"

// What lies in a cache, and what of it may go. Names are told apart strictly: whatever a cache would not have
// put there is foreign, and is neither opened nor removed.
namespace decant::cache {

// Paths are relative to the cache, times in wall seconds.
struct StoredObject {
  std::string path;
  hash::Digest digest;
  std::uint64_t size = 0;
  std::int64_t modified = 0;
  fs::Stamp stamp;
  bool sealed = false;                 // as read-only as decant leaves what it has proven
  std::vector<std::size_t> mentioned;  // positions in `releases`
};

struct StoredPartial {
  std::string path;
  hash::Digest digest;
  std::uint64_t landed_bytes = 0;
  std::int64_t beat = 0;  // last sign of its owner
  std::string holder;     // "pid 4711 on node7 since …"
  bool is_held = false;   // by a living process, or by one of another host that was heard of lately
  bool is_ours = true;    // of this user
};

struct StoredRelease {
  std::string path;  // of the directory
  model::RestoreLock lock;
  std::uint64_t bytes = 0;  // of its own files
  std::int64_t modified = 0;
  std::size_t objects = 0;  // of its parts
  std::size_t objects_here = 0;
};

struct Inventory {
  std::vector<StoredObject> objects;  // by path, as all lists
  std::vector<StoredPartial> partials;
  std::vector<StoredRelease> releases;
  std::vector<std::string> unreadable;  // of foreign: release records, whose objects are unknown
  std::vector<std::string> leftovers;   // small files of killed processes
  std::vector<std::string> foreign;
  std::uint64_t object_bytes() const;
  std::uint64_t partial_bytes() const;
};

// Reads names, locks and range records, no object. Throws Error{usage} when there is no such directory.
Inventory take_inventory(const Cache& cache, const Stop& stop);

// What to remove. At least one of the first three, or nothing is.
struct PruneChoice {
  bool all = false;
  bool unreferenced = false;               // objects that no release in the cache mentions
  std::optional<std::int64_t> older_than;  // seconds: releases, then objects that no other release mentions;
                                           // with `unreferenced`: only objects, and both must hold
  bool dry_run = false;
};

struct Pruned {
  std::string kind;  // "release", "object", "partial", "leftover"
  std::string path;
  std::uint64_t bytes = 0;
};

struct PruneResult {
  std::vector<Pruned> removed;
  std::vector<std::string> kept;  // chosen, but a living process or another user holds it
  std::vector<Problem> problems;  // what could not be removed
  std::uint64_t bytes() const;
};

// Removes what was chosen of an inventory, and with any choice what dead processes left beside whole objects.
// Locks go before the objects they mention. A partial is claimed before it is removed, so that of a process
// that wants to go on with it and this one, one gets it whole. Directories stay: another process may be about
// to use one. Killed at any moment, it leaves what the next prune finds.
PruneResult prune(const Cache& cache, const Inventory& inventory, const PruneChoice& choice, std::int64_t now,
                  const Stop& stop);

}  // namespace decant::cache
