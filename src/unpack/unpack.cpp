// SPDX-License-Identifier: Apache-2.0
#include "decant/unpack/unpack.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "decant/base/error.hpp"
#include "lanes.hpp"
#include "ledger.hpp"
#include "links.hpp"
#include "stage_dirs.hpp"

namespace decant::unpack {
namespace {

using archive::ArchiveEntry;
using archive::EntryKind;

// Turns entries into work: directories are made here, files go to the lanes, links wait for the end.
class Unpacker : public archive::EntrySink {
 public:
  Unpacker(const fs::RelPath& under, const Target& target, const UnpackOptions& options,
           Duplicates duplicates, Ledger& ledger, Lanes& lanes, progress::PartCounters* counters)
      : under_{under},
        options_{options},
        duplicates_{duplicates},
        ledger_{ledger},
        lanes_{lanes},
        counters_{counters},
        dirs_{*target.stage} {}

  void entry(const ArchiveEntry& entry) override {
    in_file_ = entry.kind == EntryKind::file;
    if (entry.path.is_root()) {
      ledger_.add_root();
    } else if (in_file_) {
      start_file(entry);
    } else {
      note(entry);
    }
    if (!in_file_ && counters_ != nullptr) counters_->entries_done.fetch_add(1, std::memory_order_relaxed);
  }

  // A piece is handed on when its block ends, so that nothing is held here while the reader waits for the
  // next block.
  void data(BlockSpan span) override {
    const auto filled = span.block->filled();
    const bool ends_block = span.bytes.data() + span.bytes.size() == filled.data() + filled.size();
    piece_.spans.push_back(std::move(span));
    if (ends_block) flush();
  }

  void entry_end() override {
    if (!in_file_) return;
    piece_.end = true;
    flush();
  }

  const std::vector<WantedLink>& hard_links() const { return hard_links_; }
  const std::vector<std::size_t>& symlinks() const { return symlinks_; }
  const std::vector<std::size_t>& directories() const { return directories_; }

 private:
  void flush() { lanes_.push(lane_, std::exchange(piece_, {})); }

  // Makes the parents of a wanted entry.
  bool prepare(const ArchiveEntry& entry, const fs::RelPath& path) {
    if (options_.wants && !options_.wants(path)) return false;
    if (!dirs_.ensure_parent(path)) {
      archive::refuse_entry(entry.number, entry.path.str(), "S5", "one of its parents is no directory");
    }
    return true;
  }

  fs::RelPath below_root(const fs::RelPath& path) const { return under_.is_root() ? path : under_ / path; }

  void start_file(const ArchiveEntry& entry) {
    FileJob job;
    job.path = below_root(entry.path);
    job.size = entry.size;
    job.mtime = entry.mtime;
    job.executable = entry.owner_executable;
    job.wanted = prepare(entry, job.path);
    job.position = ledger_.add({.path = entry.path,
                                .type = model::EntryType::file,
                                .executable = entry.owner_executable,
                                .size = entry.size,
                                .mtime = entry.mtime});
    // Of two files of one name the first must be the one that is written.
    lane_ = duplicates_ == Duplicates::refuse ? lanes_.least_busy() : lanes_.lane_of(job.path);
    piece_.begin = std::move(job);
  }

  void note(const ArchiveEntry& entry) {
    const auto path = below_root(entry.path);
    const bool wanted = prepare(entry, path);
    if (entry.kind == EntryKind::dir) {
      const auto position =
          ledger_.add({.path = entry.path, .type = model::EntryType::dir, .mtime = entry.mtime});
      if (!wanted) return;
      if (!dirs_.ensure(path)) {
        archive::refuse_entry(entry.number, entry.path.str(), "S4", "its name is there already");
      }
      directories_.push_back(position);
    } else if (entry.kind == EntryKind::symlink) {
      const auto position =
          ledger_.add({.path = entry.path, .type = model::EntryType::symlink, .target = entry.link_target});
      if (wanted) symlinks_.push_back(position);
    } else {
      const auto position =
          ledger_.add({.path = entry.path, .type = model::EntryType::file, .same_as = entry.hardlink_target});
      hard_links_.push_back({position, wanted});
    }
  }

  const fs::RelPath& under_;
  const UnpackOptions& options_;
  Duplicates duplicates_;
  Ledger& ledger_;
  Lanes& lanes_;
  progress::PartCounters* counters_;
  StageDirs dirs_;
  Lanes::Piece piece_;
  std::size_t lane_ = 0;
  bool in_file_ = false;
  std::vector<WantedLink> hard_links_;
  std::vector<std::size_t> symlinks_;
  std::vector<std::size_t> directories_;
};

archive::Rules rules_for(const model::PartSpec& part) {
  archive::Rules rules;
  rules.under = part.under;
  rules.allow_external_links = part.links == model::LinkPolicy::allow_external;
  rules.allow_non_utf8 = part.accept.contains(model::Accept::non_utf8);
  rules.allow_setid_files = part.accept.contains(model::Accept::setid_files);
  rules.max_window_log = std::max(part.window_log.value_or(0), rules.max_window_log);
  rules.max_entries = part.entries;
  rules.max_bytes = part.bytes;
  return rules;
}

void check_totals(const model::PartSpec& part, const archive::ArchiveSummary& summary) {
  const auto differ = [](std::string_view what, std::uint64_t expected, std::uint64_t found) {
    throw Error{Problem{
        .kind = ErrorKind::integrity,
        .thing = "the archive holds fewer " + std::string{what} + " than the manifest states (rule S9)",
        .expected = std::to_string(expected),
        .found = std::to_string(found)}};
  };
  if (part.entries && summary.entries != *part.entries) differ("entries", *part.entries, summary.entries);
  if (part.bytes && summary.bytes != *part.bytes) differ("bytes", *part.bytes, summary.bytes);
}

}  // namespace

UnpackResult unpack_archive(BlockSource& compressed, const model::PartSpec& part, const Target& target,
                            const UnpackOptions& options, ByteBudget& budget,
                            const std::shared_ptr<progress::PartCounters>& counters, const Stop& stop) {
  if (!target.stage->list().empty())
    throw Error{ErrorKind::bug, "the staging directory of a part is not empty"};
  const auto duplicates =
      part.accept.contains(model::Accept::dup_identical) ? Duplicates::accept_identical : Duplicates::refuse;
  UnpackResult result;
  Ledger ledger;
  Lanes lanes{static_cast<std::size_t>(std::max(options.lanes, 1)), target, ledger, counters.get(), stop};
  Unpacker unpacker{part.under, target, options, duplicates, ledger, lanes, counters.get()};
  try {
    result.summary = archive::read_archive(compressed, rules_for(part), unpacker, budget, stop);
  } catch (const LaneFailed&) {
    lanes.wait();
    throw Error{ErrorKind::bug, "a writing lane ended without a reason"};
  }
  lanes.wait();
  check_totals(part, result.summary);

  ledger.settle_names(duplicates);
  const Finishing work{ledger, target, part.under, stop};
  const auto copied = make_hard_links(work, unpacker.hard_links());
  make_symlinks(work, unpacker.symlinks());
  set_directory_times(work, unpacker.directories());
  ledger.release(result);
  result.bytes_written = lanes.bytes_written() + copied;
  return result;
}

}  // namespace decant::unpack
