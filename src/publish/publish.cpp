// SPDX-License-Identifier: Apache-2.0
#include "decant/publish/publish.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "compare.hpp"
#include "decant/base/bytes.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/sys.hpp"
#include "entries.hpp"

namespace decant::publish {
namespace {

// Where renameat2 cannot refuse to replace (NFS among others), a directory goes in two steps: an empty one is
// made under the name, which fails when the name is taken, and renameat puts the staged one in its place,
// which fails when it is empty no longer. The sticky bit tells the empty one from anybody else's should we be
// killed in between.
constexpr mode_t k_placeholder_mode = 01700;
constexpr int k_rounds = 100;  // a name that others make and remove all the time

fs::RelPath name_of(const std::string& name) {
  return fs::RelPath::require(name, "staged name");
}

bool is_placeholder(const fs::EntryFacts& facts) {
  constexpr mode_t k_inherited = S_ISGID;
  return facts.type == fs::FileType::dir && (facts.mode & ~k_inherited) == k_placeholder_mode &&
         facts.uid == ::geteuid();
}

// Two directories that lie at the same path: in the staged tree and in the root.
struct Pair {
  const fs::DirHandle& stage;
  const fs::DirHandle& root;
  const fs::RelPath& path;
};

// Publishes one part. Directories are opened anew for each level, so that few descriptors are open at a time.
class Publication {
 public:
  Publication(StagedPart& part, PublishCounts& counts, const Stop& stop)
      : part_{part}, counts_{counts}, stop_{stop}, open_to_all_{is_open_to_all(*part.root)} {}

  void move_files_and_directories() {
    if (part_.stage != nullptr) merge({});
  }
  void move_links() {
    for (const fs::RelPath& path : links_) {
      stop_.throw_if_requested();
      const auto stage = part_.stage->open_dir(path.parent());
      const auto root = part_.root->open_dir(path.parent());
      move_single({stage, root, path.parent()}, fs::RelPath::require(path.name(), "staged name"));
    }
    // Below first: each was listed after its parent.
    for (auto path = emptied_.rbegin(); path != emptied_.rend(); ++path) part_.stage->remove_dir(*path);
  }
  void set_directory_times();
  void prove_presence();

 private:
  void merge(const fs::RelPath& path);
  bool move_directory(const Pair& pair, const fs::RelPath& name);
  void move_single(const Pair& pair, const fs::RelPath& name);
  bool adopt(const Pair& pair, const fs::RelPath& name, const fs::EntryFacts& there);
  void require_trust(const Pair& pair, const fs::RelPath& name, const fs::EntryFacts& there) const;
  std::optional<std::size_t> entry_at(const fs::RelPath& path);
  [[noreturn]] void refuse(const fs::RelPath& path, std::string expected, std::string found) const;

  StagedPart& part_;
  PublishCounts& counts_;
  const Stop& stop_;
  bool open_to_all_;
  std::vector<fs::RelPath> links_;      // staged links in directories that were there already
  std::vector<fs::RelPath> emptied_;    // staged directories whose content moved, parents first
  std::vector<std::uint32_t> by_path_;  // entries in path order; made when first needed
};

// Everything whose name is free moves as it is, directories whole; directories that are there are gone
// through.
void Publication::merge(const fs::RelPath& path) {
  std::vector<fs::RelPath> below;
  {
    const fs::DirHandle stage = part_.stage->open_dir(path);
    const fs::DirHandle root = part_.root->open_dir(path);
    const Pair pair{stage, root, path};
    for (const std::string& text : stage.list()) {
      stop_.throw_if_requested();
      const fs::RelPath name = name_of(text);
      const auto facts = stage.stat(name);
      if (!facts) continue;
      if (facts->type == fs::FileType::symlink) {
        links_.push_back(path / name);
      } else if (facts->type != fs::FileType::dir) {
        move_single(pair, name);
      } else if (!move_directory(pair, name)) {
        below.push_back(path / name);
      }
    }
  }
  for (const fs::RelPath& each : below) {
    emptied_.push_back(each);
    merge(each);
  }
}

// False when a real directory is there, to be gone through.
bool Publication::move_directory(const Pair& pair, const fs::RelPath& name) {
  const char* text = name.str().c_str();
  const auto fail = [&](int error) { throw_errno(error, "publish the directory", pair.root.path_of(name)); };
  const auto put_in_place = [&] {  // of an empty directory
    if (fs::sys::renameat(pair.stage.fd(), text, pair.root.fd(), text) == 0) {
      ++counts_.renamed;
      return true;
    }
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) fail(errno);
    return false;
  };
  for (int round = 0; round < k_rounds; ++round) {
    if (fs::sys::rename_noreplace(pair.stage.fd(), text, pair.root.fd(), text) == 0) {
      ++counts_.renamed;
      return true;
    }
    if (errno == EINVAL || errno == ENOSYS) {
      if (fs::sys::mkdirat(pair.root.fd(), text, k_placeholder_mode) == 0) {
        if (put_in_place()) return true;
        continue;
      }
    }
    if (errno != EEXIST) fail(errno);
    const auto there = pair.root.stat(name);
    if (!there) continue;
    if (is_placeholder(*there) && put_in_place()) return true;
    require_trust(pair, name, *there);
    if (there->type == fs::FileType::dir) return false;
    refuse(pair.path / name, "directory", describe(pair.root, name, *there));
  }
  fail(EEXIST);
  return false;
}

void Publication::move_single(const Pair& pair, const fs::RelPath& name) {
  for (int round = 0; round < k_rounds; ++round) {
    if (pair.stage.rename_noreplace(name, pair.root, name)) {
      ++counts_.renamed;
      return;
    }
    const auto there = pair.root.stat(name);
    if (there && adopt(pair, name, *there)) return;
  }
  throw_errno(EEXIST, "publish", pair.root.path_of(name));
}

// The name is taken: fine when it holds what we bring. The staged one is then removed.
bool Publication::adopt(const Pair& pair, const fs::RelPath& name, const fs::EntryFacts& there) {
  const auto staged = pair.stage.stat(name);
  if (!staged) return true;
  // Linked by a call that was stopped before it removed the staged name.
  const bool same_file = staged->dev == there.dev && staged->ino == there.ino;
  if (!same_file) {
    const fs::RelPath path = pair.path / name;
    const auto entry = entry_at(path);
    if (!entry) refuse(path, "nothing", describe(pair.root, name, there));
    const model::IndexEntry& expected = part_.index->entries[*entry];
    require_trust(pair, name, there);
    if (auto what = difference(pair.root, name, there, expected, stop_)) {
      refuse(path, describe(expected), *std::move(what));
    }
    (*part_.marks)[*entry] = {state::Place::adopted, fs::stamp_of(there)};
    ++counts_.adopted;
  }
  pair.stage.remove_file(name);
  return true;
}

void Publication::require_trust(const Pair& pair, const fs::RelPath& name,
                                const fs::EntryFacts& there) const {
  if (!open_to_all_ || !pair.path.is_root()) return;
  const auto why = distrust(there);
  if (why) refuse(name, "one that nobody else can change", describe(pair.root, name, there) + " " + *why);
}

// Times of directories that this part brought; those that were there keep theirs, and their marks say so.
// Deepest first is not needed: setting a time changes no parent.
void Publication::set_directory_times() {
  for (std::size_t i = 0; i < part_.index->entries.size(); ++i) {
    const model::IndexEntry& entry = part_.index->entries[i];
    state::EntryMark& mark = (*part_.marks)[i];
    if (entry.type != model::EntryType::dir || mark.place != state::Place::ours) continue;
    stop_.throw_if_requested();
    const fs::RelPath path = part_.under / entry.path;
    const auto dir = part_.root->open_dir_if_there(path);
    if (!dir) continue;  // prove_presence tells
    const fs::EntryFacts facts = fs::facts_of(dir->fd());
    if (facts.dev != mark.stamp.dev || facts.ino != mark.stamp.ino) {
      mark = {state::Place::adopted, fs::stamp_of(facts)};
      continue;
    }
    if (facts.mtime_sec != entry.mtime || facts.mtime_nsec != 0) {
      const timespec times[2] = {{0, UTIME_OMIT}, {static_cast<time_t>(entry.mtime), 0}};
      if (fs::sys::futimens(dir->fd(), times) != 0) throw_errno(errno, "set the time of", dir->path());
    }
    mark.stamp = fs::stamp_of(fs::facts_of(dir->fd()));
  }
}

// Success is not assumed: one more look at every entry. What has another stamp than its mark (adopted by a
// run that was killed, or a file system that renumbers) is compared, and marked as it is.
void Publication::prove_presence() {
  const PresenceReport report = look(*part_.root, part_.under, *part_.index, *part_.marks);
  if (!report.missing.empty()) {
    const model::IndexEntry& first = part_.index->entries[report.missing.front()];
    throw Error{ErrorKind::incomplete,
                fmt::format("part {}: {} of {} vanished while they were being published, {} among them",
                            escape_for_display(part_.name), format_count(report.missing.size()),
                            counted(report.expected, "entry", "entries"),
                            escape_for_display((part_.under / first.path).str())),
                "look for a process that cleans up there, then run the same command again"};
  }
  for (const std::size_t i : report.changed) {
    const model::IndexEntry& entry = part_.index->entries[i];
    const fs::RelPath path = part_.under / entry.path;
    const auto facts = part_.root->stat(path);
    if (!facts) refuse(path, describe(entry), "nothing");
    if (auto what = difference(*part_.root, path, *facts, entry, stop_)) {
      refuse(path, describe(entry), *std::move(what));
    }
    (*part_.marks)[i] = {state::Place::adopted, fs::stamp_of(*facts)};
    ++counts_.adopted;
  }
}

std::optional<std::size_t> Publication::entry_at(const fs::RelPath& path) {
  const auto& entries = part_.index->entries;
  if (!path.is_within(part_.under) || path == part_.under) {
    if (!part_.under.is_root()) return std::nullopt;
  }
  if (by_path_.empty()) {
    by_path_.resize(entries.size());
    std::iota(by_path_.begin(), by_path_.end(), 0U);
    std::sort(by_path_.begin(), by_path_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return entries[a].path < entries[b].path; });
  }
  const std::size_t skip = part_.under.is_root() ? 0 : part_.under.str().size() + 1;
  const std::string_view below = std::string_view{path.str()}.substr(skip);
  const auto found =
      std::lower_bound(by_path_.begin(), by_path_.end(), below,
                       [&](std::uint32_t a, std::string_view b) { return entries[a].path.str() < b; });
  if (found == by_path_.end() || entries[*found].path.str() != below) return std::nullopt;
  return *found;
}

void Publication::refuse(const fs::RelPath& path, std::string expected, std::string found) const {
  throw Error{Problem{.kind = ErrorKind::conflict,
                      .thing = fmt::format("part {}: {} is taken", escape_for_display(part_.name),
                                           escape_for_display(part_.root->path_of(path))),
                      .expected = std::move(expected),
                      .found = std::move(found),
                      .hint = "move away what is there, then run the same line again"}};
}

void require_complete(const StagedPart& part) {
  if (part.root == nullptr || part.index == nullptr || part.marks == nullptr) {
    throw Error{ErrorKind::bug, "a part is to be published without root, index or marks"};
  }
  require_parallel(*part.index, *part.marks);
}

// What unpacks deeper makes the directories above it with no time of their own, so a part that may list them
// goes first.
std::vector<StagedPart*> shallow_first(std::vector<StagedPart>& parts) {
  std::vector<StagedPart*> order;
  order.reserve(parts.size());
  for (StagedPart& part : parts) order.push_back(&part);
  std::stable_sort(order.begin(), order.end(), [](const StagedPart* a, const StagedPart* b) {
    return a->under.depth() < b->under.depth();
  });
  return order;
}

void sync_roots(const std::vector<StagedPart>& parts) {
  std::set<std::uint64_t> synced;
  for (const StagedPart& part : parts) {
    if (synced.insert(fs::facts_of(part.root->fd()).dev).second) part.root->sync_file_system();
  }
}

}  // namespace

PublishCounts publish(std::vector<StagedPart>& parts, progress::Reporter& reporter, const Stop& stop) {
  PublishCounts counts;
  std::vector<Publication> publications;
  publications.reserve(parts.size());
  for (StagedPart* part : shallow_first(parts)) {
    require_complete(*part);
    publications.emplace_back(*part, counts, stop);
  }
  for (Publication& each : publications) each.move_files_and_directories();
  for (Publication& each : publications) each.move_links();
  for (Publication& each : publications) each.set_directory_times();
  for (Publication& each : publications) each.prove_presence();
  sync_roots(parts);
  reporter.message(progress::Level::detail, fmt::format("published by {}; there already: {}",
                                                        counted(counts.renamed, "rename", "renames"),
                                                        counted(counts.adopted, "entry", "entries")));
  return counts;
}

}  // namespace decant::publish
