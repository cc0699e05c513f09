// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decant/fs/dir_handle.hpp"
#include "decant/publish/publish.hpp"
#include "decant/restore/restore.hpp"

namespace decant::restore {

// Where a root lies in this run.
struct RootPlace {
  std::string path;      // absolute
  std::string recorded;  // as roots.json holds it: "." for the bundle, relative inside it, else absolute
};

// One part on its way: what the release says, what is there, what is to be done.
struct PartWork {
  model::PartSpec spec;                 // size and digest completed
  std::vector<model::LooseFile> files;  // place and files parts: what they bring
  bool selected = true;

  plan::PartState state = plan::PartState::missing;
  std::uint64_t present_bytes = 0;     // need not be fetched
  std::uint64_t in_place_bytes = 0;    // of these, in the root or staged: need not be written either
  std::uint64_t elsewhere_bytes = 0;   // of these, in further local places: read there, and written
  std::vector<std::string> elsewhere;  // their names
  std::optional<state::PartRecord> record;
  std::optional<model::PartIndex> index;
  // Entries (by index position) that must be staged; empty with stage_all false: nothing to stage.
  std::vector<std::size_t> needed;
  bool stage_all = false;
  // Files and placed files that the index of an earlier, narrower run does not hold; staged as well.
  std::vector<std::size_t> new_files;       // positions in `files`
  std::vector<report::Conflict> conflicts;  // published entries that are something else now
  bool marks_renewed = false;               // entries with another stamp proved to be the same content
  std::uint64_t entries_deleted = 0;
  std::optional<Problem> problem;  // stands in the way of this part alone

  bool is_archive() const { return spec.kind == model::PartKind::unpack; }
  source::Object object() const;  // archives
  bool has_needs() const { return stage_all || !needed.empty() || !new_files.empty(); }
  bool has_work() const { return selected && !problem && has_needs(); }
  std::uint64_t size() const;
};

struct Prepared {
  Request request;
  Services services;

  std::optional<state::Bundle> bundle;  // nullopt: not there yet, or fetch
  model::ReleaseManifest manifest;
  std::string manifest_bytes;  // empty for a loose repo
  model::RestoreLock lock;
  hash::Digest lock_digest;
  bool lock_on_disk = false;
  model::Selection selection;
  std::map<std::string, RootPlace> roots;
  std::map<std::string, std::optional<fs::DirHandle>> root_dirs;     // those that are there
  std::map<std::string, std::optional<fs::DirHandle>> staging_dirs;  // left by an earlier run
  std::vector<PartWork> parts;
  std::optional<cache::Cache> cache;
  std::vector<report::Conflict> conflicts;    // known beforehand; filled by make_plan()
  std::vector<Problem> problems;              // found while preparing; they stand in the way of the whole run
  std::vector<plan::PlaceFacts> place_facts;  // what further places said, or hold
  std::vector<source::Source*> unreachable;   // of the further places: not asked again in this run

  // Opens it at first use; checks that it is the locked release.
  source::Repository& repository();
  bool has_repository() const { return repository_ != nullptr; }
  const Stop& stop() const { return *services.stop; }
  progress::Reporter& reporter() const { return *services.reporter; }

 private:
  std::unique_ptr<source::Repository> repository_;
};

// Resolves source, manifest and lock when neither bundle nor cache holds a lock (repo_manifest.cpp).
void resolve_release(Prepared& prepared);
// Takes over a lock that is there: compares it with the request, loads the manifest (lock_check.cpp).
void adopt_lock(Prepared& prepared, model::RestoreLock lock, std::optional<std::string> manifest_bytes);
// Builds the manifest of a loose repo from the locked files.
model::ReleaseManifest manifest_from_locked_files(const model::RestoreLock& lock);
// Size and digest of every part from the lock into the manifest's parts, as PartWork.
void make_parts(Prepared& prepared);
// What lies on disk of every selected part (part_state.cpp).
void look_at_parts(Prepared& prepared);
// True when a file of that size lies at its path below `base`.
bool is_placed(const std::optional<fs::DirHandle>& base, const model::LooseFile& file);
// Conflicts that are known beforehand: of every part whose index is known, and of files whose paths are
// known, by type and size.
std::vector<report::Conflict> known_conflicts(const Prepared& prepared);
report::Conflict to_report(const publish::Conflict& conflict);
// The plan of a restore that has claimed the bundle or is about to; make_plan() also says what would stop it.
plan::Plan plan_of(Prepared& prepared);
// Marks of wanted entries only, so that publish::look() asks for nothing else.
state::Marks wanted_marks(const model::Selection& selection, const model::PartSpec& spec,
                          const model::PartIndex& index, state::Marks marks);

// An installed path of an index entry below its root.
fs::RelPath installed_path(const PartWork& part, const fs::RelPath& entry);

// Two parts that bring different things to one place through two roots of which one lies within the other.
// Roots that lie apart need no look.
std::vector<report::Conflict> conflicts_of_nested_roots(const Prepared& prepared);

// A glob of --only that no entry fits is a slip, not a wish for nothing. Archives without an index tell
// only after they were staged. Throws Error{usage}.
void refuse_words_without_effect(const Prepared& prepared);

// Where a part lies below a staging directory: its own directory, its staged tree, loose files on their way.
fs::RelPath part_dir(const PartWork& part);
fs::RelPath tree_dir(const PartWork& part);
fs::RelPath arriving_dir(const PartWork& part);

}  // namespace decant::restore
