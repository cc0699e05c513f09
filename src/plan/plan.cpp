// SPDX-License-Identifier: Apache-2.0
#include "decant/plan/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decant/base/bytes.hpp"
#include "decant/base/text.hpp"

namespace decant::plan {
namespace {

constexpr int k_usual_window_log = 27;

bool is_pending(const PartFacts& part) {
  return part.state == PartState::missing || part.state == PartState::partial ||
         part.state == PartState::cached;
}

std::uint64_t still_to_fetch(const PartFacts& part) {
  if (part.state == PartState::missing) return part.size;
  if (part.state == PartState::partial) return part.size - std::min(part.present_bytes, part.size);
  return 0;
}

// The sums of one file system while parts are added up.
struct Tally {
  FileSystemPlan plan;
  std::uint64_t kept = 0;               // downloads that stay
  std::uint64_t written = 0;            // content, and loose files that land in place
  std::uint64_t unstated = 0;           // lower bound of what no manifest and no index states
  std::uint64_t largest_kept = 0;       // the one archive that has to lie here even with --discard-parts
  std::uint64_t largest_transient = 0;  // the same for archives that are dropped in any case
  bool has_cache = false;
};

class Tallies {
 public:
  Tally& at(const fs::DiskFacts& disk) {
    for (Tally& tally : tallies_) {
      if (tally.plan.device != disk.device) continue;
      // Two paths on one file system may differ in what this user may do there.
      tally.plan.writable = tally.plan.writable && disk.writable;
      return tally;
    }
    Tally& tally = tallies_.emplace_back();
    tally.plan.device = disk.device;
    tally.plan.type = disk.type;
    tally.plan.is_memory = disk.is_memory;
    tally.plan.writable = disk.writable;
    tally.plan.free = disk.free_bytes;
    tally.plan.free_inodes = disk.free_inodes;
    tally.plan.counts_inodes = disk.counts_inodes;
    return tally;
  }
  std::vector<Tally>& all() { return tallies_; }

 private:
  std::vector<Tally> tallies_;  // a handful at most
};

void add_content(const PartFacts& part, Tally& tally) {
  if (part.kind == model::PartKind::unpack) {
    // A glob may want one entry of an archive: then not even the archive's size is a lower bound.
    const std::uint64_t floor = part.partial_selection ? 0 : part.size;
    tally.plan.to_write += part.unpacked_bytes.value_or(floor);
    // What nobody states is shown as a lower bound and never decides whether it fits: it may lie there
    // already.
    tally.written += part.unpacked_bytes.value_or(0);
    tally.unstated += part.unpacked_bytes ? 0 : floor;
    tally.plan.inodes_needed += part.entries.value_or(1);
    if (!part.unpacked_bytes || !part.entries) tally.plan.at_least = true;
    return;
  }
  tally.plan.inodes_needed += part.files;
  if (!part.keeps_download && part.state == PartState::partial) {
    tally.plan.to_write += part.elsewhere_bytes;
    tally.written += part.elsewhere_bytes;
  }
  if (part.keeps_download || part.state == PartState::cached) {
    const std::uint64_t bytes = part.size - std::min(part.in_place_bytes, part.size);
    tally.plan.to_write += bytes;
    tally.written += bytes;
  }
  // Otherwise the download itself becomes the file: it is counted as fetched.
}

void add_download(const PartFacts& part, Tally& tally) {
  const std::uint64_t bytes = still_to_fetch(part);
  if (bytes == 0) return;
  tally.plan.to_fetch += bytes;
  if (part.keeps_download) {
    tally.kept += bytes;
    tally.plan.inodes_needed += part.files;
    if (part.kind == model::PartKind::unpack) tally.largest_kept = std::max(tally.largest_kept, bytes);
  } else if (part.kind == model::PartKind::unpack) {
    tally.largest_transient = std::max(tally.largest_transient, bytes);
  } else {
    tally.written += bytes;
  }
}

std::string use_of(const std::string& what, const std::string& path) {
  return path.empty() ? what : what + ' ' + path;
}

Tallies tally_up(const PlanInput& input) {
  Tallies tallies;
  for (const auto& [root, disk] : input.root_disks) {
    const auto path = input.root_paths.find(root);
    tallies.at(disk).plan.uses.push_back(
        use_of(root, path == input.root_paths.end() ? disk.path : path->second));
  }
  if (input.cache_disk) {
    Tally& tally = tallies.at(*input.cache_disk);
    tally.plan.uses.push_back(use_of("cache", input.cache_path));
    tally.has_cache = true;
  }
  for (const PartFacts& part : input.parts) {
    if (!is_pending(part)) continue;
    const auto disk = input.root_disks.find(part.root);
    if (disk != input.root_disks.end()) add_content(part, tallies.at(disk->second));
    if (part.keeps_download && input.cache_disk) {
      add_download(part, tallies.at(*input.cache_disk));
    } else if (disk != input.root_disks.end()) {
      add_download(part, tallies.at(disk->second));
    }
  }
  return tallies;
}

void judge_space(Tally& tally) {
  FileSystemPlan& plan = tally.plan;
  const std::uint64_t stated = tally.kept + tally.written + tally.largest_transient;
  plan.peak = stated + tally.unstated;
  if (stated > plan.free) plan.short_by = plan.peak - plan.free;
  if (!tally.has_cache || tally.kept == 0 || tally.written + tally.unstated == 0) return;
  // Discarding frees an archive only after it was unpacked, so the largest one is there in any case.
  const std::uint64_t content = tally.written + tally.unstated;
  const std::uint64_t discarding = content + std::max(tally.largest_kept, tally.largest_transient);
  if (discarding < plan.peak) plan.peak_discarding = discarding;
  plan.peak_cache_elsewhere = content + tally.largest_transient;
}

// Everything in memory file systems comes out of the same memory, beside what decant itself needs.
void judge_memory(std::vector<Tally>& tallies, const PlanInput& input) {
  if (input.memory_available == 0) return;
  std::uint64_t sum = input.memory_budget;
  for (const Tally& tally : tallies) {
    if (tally.plan.is_memory) sum += tally.plan.peak;
  }
  if (sum <= input.memory_available) return;
  const std::uint64_t over = sum - input.memory_available;
  for (Tally& tally : tallies) {
    FileSystemPlan& plan = tally.plan;
    if (plan.is_memory && plan.peak > 0) plan.short_by = std::max(plan.short_by, std::min(over, plan.peak));
  }
}

std::string escaped_uses(const FileSystemPlan& plan) {
  std::string text;
  for (const std::string& use : plan.uses) text += (text.empty() ? "" : ", ") + escape_for_display(use);
  return text;
}

std::string ways_out(const FileSystemPlan& plan) {
  std::string hint = "free space there";
  if (plan.peak_cache_elsewhere > 0) {
    hint += fmt::format("; peak with --download-cache elsewhere: {}{}", plan.at_least ? "at least " : "",
                        format_size(plan.peak_cache_elsewhere));
  }
  return plan.peak_cache_elsewhere > 0 ? hint : hint + ", or choose another directory";
}

void add_problems(const FileSystemPlan& file_system, const PlanInput& input, std::vector<Problem>& problems) {
  const bool has_work = file_system.peak > 0 || file_system.inodes_needed > 0;
  const std::string uses = escaped_uses(file_system);
  if (has_work && !file_system.writable) {
    problems.push_back({.kind = ErrorKind::disk,
                        .thing = "cannot write to " + uses,
                        .expected = "a directory this user may create files in",
                        .found = "a read-only file system or missing permission",
                        .hint = "choose another directory, or have it made writable"});
  }
  if (file_system.short_by > 0) {
    const bool by_memory = file_system.peak <= file_system.free;
    problems.push_back(
        {.kind = ErrorKind::disk,
         .thing = fmt::format("the release does not fit on the file system of {}, short by {}", uses,
                              format_size(file_system.short_by)),
         .expected =
             fmt::format("{}{} free", file_system.at_least ? "at least " : "", format_size(file_system.peak)),
         .found = by_memory ? fmt::format("{} of memory available: {} lies in memory",
                                          format_size(input.memory_available), file_system.type)
                            : format_size(file_system.free),
         .hint = by_memory ? "choose a directory on a disk, or free memory" : ways_out(file_system)});
  }
  if (file_system.counts_inodes && file_system.inodes_needed > file_system.free_inodes) {
    problems.push_back({.kind = ErrorKind::disk,
                        .thing = "too few inodes on the file system of " + uses,
                        .expected = fmt::format("{}{} free", file_system.at_least ? "at least " : "",
                                                format_count(file_system.inodes_needed)),
                        .found = format_count(file_system.free_inodes),
                        .hint = "remove small files there, or choose another file system"});
  }
}

void add_totals(Plan& plan) {
  plan.nothing_to_do = true;
  for (const PartFacts& part : plan.input.parts) {
    if (part.state == PartState::skipped) continue;
    const std::uint64_t fetch = still_to_fetch(part);
    plan.fetch_total += fetch;
    plan.present_total += part.size - fetch;
    if (part.state != PartState::published) plan.nothing_to_do = false;
    if (!is_pending(part) || part.kind != model::PartKind::unpack) continue;
    if (!part.has_list) ++plan.parts_without_list;
    const int log = part.window_log.value_or(0);
    if (log <= k_usual_window_log || log >= 64) continue;
    const std::uint64_t window = std::uint64_t{1} << log;
    if (window <= plan.window_memory) continue;
    plan.window_memory = window;
    plan.window_part = part.name;
  }
}

}  // namespace

std::string_view to_string(PartState state) noexcept {
  switch (state) {
    case PartState::skipped:
      return "skipped";
    case PartState::missing:
      return "missing";
    case PartState::partial:
      return "partial";
    case PartState::cached:
      return "cached";
    case PartState::staged:
      return "staged";
    case PartState::published:
      break;
  }
  return "published";
}

Plan make_plan(PlanInput input) {
  Tallies tallies = tally_up(input);
  for (Tally& tally : tallies.all()) judge_space(tally);
  judge_memory(tallies.all(), input);

  Plan plan;
  plan.problems = input.problems;
  for (Tally& tally : tallies.all()) {
    add_problems(tally.plan, input, plan.problems);
    plan.file_systems.push_back(std::move(tally.plan));
  }
  plan.input = std::move(input);
  add_totals(plan);
  for (const Problem& problem : plan.problems) {
    plan.exit_code = worse_exit_code(plan.exit_code, exit_code(problem.kind));
  }
  if (!plan.input.conflicts.empty()) {
    plan.exit_code = worse_exit_code(plan.exit_code, exit_code(ErrorKind::conflict));
  }
  return plan;
}

}  // namespace decant::plan
