// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decant/base/error.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/fs/owner.hpp"
#include "decant/hash/digest.hpp"
#include "decant/model/index.hpp"
#include "decant/model/lock.hpp"
#include "decant/model/manifest.hpp"

// BUNDLE/.decant/ and BUNDLE/restore_lock.json: small files, each written temp -> fsync -> rename ->
// fsync(dir), each state record carrying the lock's digest and its own. A record that cannot be trusted reads
// as absent.
namespace decant::state {

inline constexpr std::string_view k_state_dir = ".decant";
inline constexpr std::string_view k_staging_prefix = ".decant-staging-";

// What became of one index entry of a part, in index order.
enum class Place : std::uint8_t {
  none,     // not selected, or not there
  ours,     // made by decant: in staging, or published from it (a rename keeps the stamp)
  adopted,  // identical content that was already there
};
struct EntryMark {
  Place place = Place::none;
  fs::Stamp stamp;
  bool operator==(const EntryMark&) const = default;
};
using Marks = std::vector<EntryMark>;

enum class Stage { staged, published };

struct PartRecord {
  std::string part;
  Stage stage = Stage::staged;
  hash::Digest index_sha256;  // of the index text the marks are parallel to
  bool published_before =
      false;                  // staged anew over entries that are published: verify still goes by the index
  std::string staging;        // staged: name of the staging directory below the part's root
  std::int64_t finished = 0;  // wall seconds, informative ("unchanged since …")
  Marks marks;                // kept in a file of their own
  bool operator==(const PartRecord&) const = default;
};

// Which entries the last restore was asked for.
struct SelectionWords {
  std::vector<std::string> only;
  std::vector<std::string> skip;
  bool operator==(const SelectionWords&) const = default;
};

// Where roots lie: "bundle" is "."; a root inside the bundle is relative to it; others absolute.
using RootMap = std::map<std::string, std::string>;

enum class Ownership { taken, busy };

// "another process works on this bundle": what to say when claim() gave busy.
Problem busy_problem(const std::string& path, const std::string& holder);

class Bundle {
 public:
  // Opens the directory; with Missing::create makes it. Nothing below it is made before the first write call.
  // Throws Error{disk}, or Error{conflict} when the path is a file.
  static Bundle open(const std::string& path, fs::Missing missing);
  static std::optional<Bundle> open_if_there(const std::string& path);
  ~Bundle();  // releases ownership
  Bundle(Bundle&&) noexcept;
  Bundle& operator=(Bundle&&) noexcept;

  const fs::DirHandle& dir() const;
  const std::string& path() const;

  // Claims the bundle for this process (`.decant/owner`, created atomically, with a heartbeat thread); a dead
  // owner's claim is taken over. busy: `holder` gets "pid 4711 on node7 since …". Correct without any kernel
  // lock.
  Ownership claim(std::string* holder);
  // What would stop claim() if it were called now: a live owner (kind busy), or state that is not ours to
  // write in. Reads only.
  std::optional<Problem> obstacle() const;
  // Who works on the bundle now, if somebody alive does: "pid 4711 on node7 since …". Reads only.
  std::optional<std::string> holder() const;
  // True when somebody on another host took our claim over, because this process stood still for ten minutes.
  // Reads one small file: to be asked before each step that takes something away from others.
  bool ownership_lost() const;
  // True when there is something that only a working or a killed process leaves: a claim, staging, temporary
  // files. Reads names only.
  bool has_leftovers() const;

  // nullopt: none there. Throws Error{state} when it is there but invalid, too new or damaged.
  std::optional<model::RestoreLock> read_lock() const;
  void write_lock(const model::RestoreLock& lock);

  // Exact bytes of the manifest; read gives nullopt unless its SHA-256 is `expected`.
  std::optional<std::string> read_manifest(const hash::Digest& expected) const;
  void write_manifest(std::string_view bytes);

  // Index of a part: zstd-compressed jsonl below .decant/release/. read gives nullopt when absent, damaged or
  // not of `expected` (SHA-256 of the uncompressed text). write returns that digest.
  std::optional<model::PartIndex> read_index(const std::string& part, const hash::Digest& expected) const;
  hash::Digest write_index(const std::string& part, const model::PartIndex& index);

  // Records of parts; read gives nullopt for absent or untrusted ones (other lock, damaged, stamps missing).
  std::optional<PartRecord> read_record(const std::string& part, const hash::Digest& lock) const;
  void write_record(const PartRecord& record, const hash::Digest& lock);

  std::optional<RootMap> read_roots() const;
  // Absolute paths that lie in the bundle are stored relative to it.
  void write_roots(const RootMap& roots);
  // The two forms of a root's place: as stored in a RootMap, and as a path to open.
  std::string stored_root(const std::string& path) const;
  std::string root_path(const std::string& stored) const;
  std::optional<SelectionWords> read_selection(const hash::Digest& lock) const;
  void write_selection(const SelectionWords& words, const hash::Digest& lock);

  // The staging directory on the file system of `root_dir` (root NAME): found again if an earlier run of this
  // lock left it (marker with the lock's digest, owned by us, 0700), else made: its name is written to
  // .decant/staging.json before the directory is created. For the bundle root it lies in .decant/.
  fs::DirHandle open_staging(const std::string& root_name, const fs::DirHandle& root_dir,
                             const hash::Digest& lock, std::string* relative_name);
  // The same without making anything.
  std::optional<fs::DirHandle> find_staging(const std::string& root_name, const fs::DirHandle& root_dir,
                                            const hash::Digest& lock, std::string* relative_name) const;
  // Removes a staging directory that carries our marker, and its line in staging.json.
  void remove_staging(const std::string& root_name, const fs::DirHandle& root_dir, const hash::Digest& lock);

 private:
  struct Impl;
  explicit Bundle(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A part's name as a file name, and the directory of a part below a staging directory.
std::string part_file_name(std::string_view part);

}  // namespace decant::state
