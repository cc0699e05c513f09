// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decant/base/clock.hpp"
#include "decant/base/stop.hpp"
#include "decant/cache/cache.hpp"
#include "decant/model/lock.hpp"
#include "decant/model/manifest.hpp"
#include "decant/model/selection.hpp"
#include "decant/plan/plan.hpp"
#include "decant/progress/reporter.hpp"
#include "decant/report/report.hpp"
#include "decant/source/source.hpp"
#include "decant/state/bundle.hpp"

// From a request to a restored bundle: prepare (lock, manifest, states of all parts; writes nothing), plan,
// then stage every selected part, and publish only when all of them are staged and no conflict stands.
namespace decant::restore {

// What the user asked for, after the command line and the environment were read.
struct Request {
  std::string bundle;                        // empty: fetch
  std::map<std::string, std::string> roots;  // NAME -> directory, beside "bundle"; "runtime" may be unused
  std::optional<std::string> cache;          // nullopt: none
  bool cache_given = false;                  // the user named the cache: loose files fill it too
  std::optional<std::string> release;        // --release, or the path in SOURCE
  std::optional<std::string> revision;
  bool loose = false;
  struct LocalManifest {
    std::string name;  // for messages
    std::string bytes;
  };
  std::optional<LocalManifest> manifest;  // --manifest FILE
  std::vector<std::string> only;
  std::vector<std::string> skip;
  bool reextract = false;
  bool offline = false;
  bool wait = false;  // for other processes: that work on this bundle, that bring an object to the cache
  std::optional<std::chrono::milliseconds> wait_limit;
  int jobs = 0;                  // 0: as many as cores
  int connections = 16;          // at most
  std::uint64_t limit_rate = 0;  // bytes per second of all connections together; 0: no limit
  std::uint64_t memory = 192 * k_mib;
  std::string tool_version;
  // What SOURCE says about kind, repo and repo type; nullopt when SOURCE was left out.
  std::optional<model::LockSource> asked;
  // The restore line to print at the end of a plan, for a commit.
  std::function<std::string(const std::string& commit)> command_line;
};

struct Services {
  // Opens the repository; called at most once, and only when something is needed from it. `locked` is what
  // the lock says when SOURCE was left out. Throws Error{usage} when it cannot know the place.
  std::function<std::unique_ptr<source::Repository>(const std::optional<model::LockSource>& locked)>
      open_repository;
  // Further places that may have the objects, tried in this order before the repo's own; local ones first,
  // read in place. They outlive what was prepared with them.
  std::vector<source::Source*> places;
  Clock* clock = nullptr;
  progress::Reporter* reporter = nullptr;
  const Stop* stop = nullptr;
};

struct Prepared;  // everything known before the first write

// Reads lock, manifest and state, asks the repository for what is not known. Writes nothing. Throws Error for
// what makes any plan impossible (usage, state, access, network).
std::shared_ptr<Prepared> prepare(const Request& request, const Services& services);

// What a command says of a prepared request before anything was done: release, lock, parts, conflicts known
// beforehand.
report::Result describe(const Prepared& prepared, std::string command);

// The plan of a prepared request: access probed, disks asked.
plan::Plan make_plan(Prepared& prepared);

// Fetches, stages and publishes. Everything that went wrong is in the result, part by part.
report::Result run_restore(Prepared& prepared);

// prepare() and run_restore(). With Request::wait, while another process works on the bundle it waits until
// that one is done or dead, and looks at everything anew then; when the limit is over it ends as without.
report::Result restore_in_turn(const Request& request, const Services& services);

// Fills the cache with every selected object and writes the lock beside it.
report::Result run_fetch(Prepared& prepared);

// What verify and status need to know about a bundle, offline.
struct OpenedBundle {
  state::Bundle bundle;
  model::RestoreLock lock;
  model::ReleaseManifest manifest;
  model::Selection selection;  // the last restore's choice
  bool subset = false;
  std::map<std::string, std::string> root_paths;  // absolute; only those known
};
// Throws Error{usage} when there is no bundle or no lock there, Error{state} when it is damaged.
OpenedBundle open_bundle(const std::string& path);

struct PartStatus {
  std::string name;
  std::string shown_path;
  std::uint64_t size = 0;
  plan::PartState state = plan::PartState::missing;
  std::uint64_t present_bytes = 0;
  std::uint64_t entries = 0;
  std::uint64_t missing_entries = 0;
  std::uint64_t changed_entries = 0;
  std::int64_t since = 0;  // wall seconds when it was published; 0 when it is not
};
// One stat per entry at most; no network.
std::vector<PartStatus> status(const OpenedBundle& opened, const std::optional<cache::Cache>& cache);

}  // namespace decant::restore
