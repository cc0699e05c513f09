// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "decant/base/error.hpp"
#include "decant/fs/disk.hpp"
#include "decant/model/lock.hpp"
#include "decant/model/manifest.hpp"

// What a restore would do, as a pure function of facts that others gathered. Writes nothing, asks nothing.
namespace decant::plan {

enum class PartState {
  skipped,  // not selected
  missing,
  partial,  // some bytes landed
  cached,   // complete in the cache (or read in place from a local source), by name and size
  staged,
  published,
};
std::string_view to_string(PartState state) noexcept;

// Facts about one part.
struct PartFacts {
  std::string name;
  std::string shown_path;  // path in the repo
  model::PartKind kind = model::PartKind::unpack;
  std::string root;
  std::uint64_t size = 0;   // in the repo (sum of files for loose parts)
  std::uint64_t files = 1;  // repo files
  PartState state = PartState::missing;
  std::uint64_t in_place_bytes =
      0;  // content that is in the root or staged already: nothing is written for it
  std::uint64_t present_bytes = 0;     // landed, cached or in place
  std::uint64_t elsewhere_bytes = 0;   // of these, in further local places: read there, and written here
  std::vector<std::string> elsewhere;  // their names
  bool keeps_download =
      true;  // the bytes stay in the cache; false: they land in staging or are read in place
  bool partial_selection = false;  // a glob wants only some entries; the whole part is fetched all the same
  // What it unpacks to; nullopt: nobody states it.
  std::optional<std::uint64_t> unpacked_bytes;
  std::optional<std::uint64_t> entries;
  bool has_list = false;  // an index or name list: conflicts can be known beforehand
  std::optional<int> window_log;
};

// A further place (--from): what it said when it was asked, or what it holds.
struct PlaceFacts {
  std::string place;
  std::string answer;
};

struct PlanInput {
  std::string headline_source;  // "datasets/ORG/NAME at https://…"
  std::string release_id;
  std::string commit;
  std::string requested_revision;
  bool loose = false;
  std::vector<PartFacts> parts;
  std::map<std::string, fs::DiskFacts> root_disks;      // by root name
  std::map<std::string, std::string> root_paths;        // by root name, as resolved
  std::map<std::string, std::string> root_suggestions;  // roots that nobody gave and a manifest suggests
  std::optional<fs::DiskFacts> cache_disk;              // nullopt: --download-cache none
  std::string cache_path;
  std::uint64_t memory_budget = 0;
  std::uint64_t memory_available = 0;
  std::vector<std::string> conflicts;       // known beforehand, shown as they are
  std::size_t conflicts_between_parts = 0;  // of these, contradictions within the release
  std::vector<Problem> problems;            // access and others, found while gathering
  std::string access;                       // "granted", "not checked: offline", …
  std::vector<PlaceFacts> places;
  std::string command_line;  // the restore line with the full commit, last line of the plan
};

// What one file system has to carry.
struct FileSystemPlan {
  std::uint64_t device = 0;
  std::vector<std::string> uses;  // "bundle /nvme/sft", "cache /nvme/cache"
  std::string type;
  bool is_memory = false;
  bool writable = true;
  std::uint64_t to_fetch = 0;  // bytes of downloads that will come to lie here
  std::uint64_t to_write = 0;  // bytes of unpacked content
  bool at_least = false;       // some part states no unpacked size: the figures are lower bounds
  std::uint64_t peak = 0;      // most that lies here at one time, beyond what is there now
  std::uint64_t free = 0;
  std::uint64_t short_by = 0;  // 0: fits
  // Ways out when download cache and content share this file system; 0: they do not, or nothing is to be
  // gained.
  std::uint64_t peak_discarding = 0;       // with --discard-parts, at least
  std::uint64_t peak_cache_elsewhere = 0;  // with the cache on another file system
  std::uint64_t inodes_needed = 0;
  std::uint64_t free_inodes = 0;
  bool counts_inodes = true;
};

struct Plan {
  PlanInput input;
  std::vector<FileSystemPlan> file_systems;
  std::uint64_t fetch_total = 0;  // bytes still to come over the line
  std::uint64_t present_total = 0;
  std::uint64_t parts_without_list = 0;
  std::uint64_t window_memory = 0;  // what the widest declared window needs, when it is above 128 MiB
  std::string window_part;          // the part that needs it
  bool nothing_to_do = false;
  std::vector<Problem> problems;  // the input's, and "does not fit" of kind disk
  int exit_code = 0;              // what a restore would run into now; 0: it would succeed
};

// Figures are summed per file system. For a part whose unpacked size nobody states, its archive's size is
// shown as a lower bound (at_least); it never decides whether the release fits.
Plan make_plan(PlanInput input);

}  // namespace decant::plan
