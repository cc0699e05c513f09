// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decant/base/fd.hpp"
#include "decant/cache/partial.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/hash/digest.hpp"
#include "decant/model/lock.hpp"

namespace decant {
class Stop;
}

// On disk, below the directory given by --download-cache:
//
//   ALGORITHM/ab/abcd…                  a whole object under its digest in hex, read-only; ALGORITHM is
//   sha256 or
//                                       git-sha1, ab the first two digits
//   ALGORITHM/ab/abcd….partial.NONCE/   one that is arriving (decant/cache/partial.hpp):
//     owner                             one line that names the process; its mtime is the heartbeat
//     bytes/data                        the object, with holes
//     bytes/ranges                      which chunks have landed (src/cache/range_record.hpp)
//   ALGORITHM/ab/abcd….turn             for a moment: who looks whether somebody brings it
//   (src/cache/turn.hpp) releases/KIND/REPO/PIN/RELEASE/     what `restore --offline` starts from:
//     restore_lock.json                 as in a bundle
//     release_manifest.json             the exact bytes that the lock pins; none for a loose repo
//
// KIND: datasets, models, mirror, directory. REPO: ORG/NAME, left out for the last two. PIN: the commit, for
// a mirror or directory the SHA-256 of the manifest; a manifest that is not the repo's own adds "-" and the
// first 16 digits of its SHA-256 to the commit. RELEASE: the release path, "_root" when it is empty.
//
// A name is never a proof: who reads a final hashes it. Not promised: that two processes never fetch the same
// object.
namespace decant::cache {

// What the cache has of an object, by name and size only: never a proof.
struct ObjectFacts {
  bool complete = false;
  bool sealed = false;             // complete, and as read-only as finish() leaves a proven object
  std::uint64_t landed_bytes = 0;  // of the best partial when not complete
};

// Somebody living who brings an object just now.
struct Claim {
  std::string holder;              // "pid 4711 on node7 since …"
  std::uint64_t landed_bytes = 0;  // as far as they can be seen
  fs::Stamp beat;                  // moves with the holder's heartbeat
  fs::Stamp record;                // moves while bytes land
};

// A download cache directory. A static web server over it is a mirror. Thread-safe.
class Cache {
 public:
  // Makes nothing until the first write.
  explicit Cache(std::string path);
  const std::string& path() const { return path_; }

  // Reads only; a cache that does not exist has nothing.
  ObjectFacts look(const hash::Digest& digest, std::uint64_t size) const;
  // A complete final: regular file of that size, opened without following links. nullopt otherwise.
  std::optional<Fd> open_final(const hash::Digest& digest, std::uint64_t size) const;
  // What killed processes left beside an object that has its final name: empty partials.
  void remove_leftovers(const hash::Digest& digest, std::uint64_t size);
  // A final of the right name whose bytes proved wrong: removed if it is still the open file (dev, ino).
  // False when it stays, as this cache may only be read.
  bool remove_bad_final(const hash::Digest& digest, int fd);

  // A final that was hashed and is right, wherever it came from: made read-only, so that look() calls it
  // sealed. Failing is no matter: it is hashed again the next time.
  void seal(int fd) const;

  // Who else, another thread of this process included, brings the object now; nobody when it is complete.
  // Reads only. Whether a process
  // of another host lives is told by its heartbeat.
  std::optional<Claim> claimed_by_other(const hash::Digest& digest, std::uint64_t size) const;

  // Throws Error{conflict} when the final's name is taken by something that is no regular file. `stop`: see
  // Partial::claim_or_create.
  Partial begin(const hash::Digest& digest, std::uint64_t size, const Stop& stop, Held held = Held::leave);
  // The same for those who would rather wait: nullopt when somebody else brings the object (`claim` says
  // who) or has just finished it (`claim` is empty). Of many that call this at the same time one begins.
  std::optional<Partial> begin_unless_claimed(const hash::Digest& digest, std::uint64_t size,
                                              const Stop& stop, std::optional<Claim>& claim);
  // The partial's bytes were proven: makes it the final. When another process was first, the partial is
  // discarded; a file of another size under that name is replaced, as it cannot be the object.
  void finish(Partial partial, const hash::Digest& digest);

  void write_lock(const model::RestoreLock& lock);
  // Where in a cache the manifest of a lock lies: also in one that a mirror serves.
  static fs::RelPath manifest_path(const model::RestoreLock& lock);
  // All locks for a repo and release; any commit. Damaged ones are left out.
  std::vector<model::RestoreLock> find_locks(const model::LockSource& like, const fs::RelPath& release) const;
  // The exact manifest bytes beside a lock; nullopt when missing or not what the lock pins.
  void write_manifest(const model::RestoreLock& lock, std::string_view bytes);
  std::optional<std::string> read_manifest(const model::RestoreLock& lock) const;

 private:
  std::string path_;
};

}  // namespace decant::cache
