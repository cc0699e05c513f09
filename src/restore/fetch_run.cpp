// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "decant/base/text.hpp"
#include "decant/base/threads.hpp"
#include "decant/hash/hasher.hpp"
#include "local_copy.hpp"
#include "object_supply.hpp"
#include "places.hpp"

namespace decant::restore {

namespace {

// One object, and the parts that hold it: equal files are fetched once.
struct Job {
  source::Object object;
  std::vector<std::size_t> parts;
};

std::vector<Job> jobs_of(const Prepared& p) {
  std::vector<Job> jobs;
  std::map<hash::Digest, std::size_t> known;
  const auto add = [&](std::size_t part, source::Object object) {
    const auto [at, is_new] = known.emplace(object.digest, jobs.size());
    if (is_new) jobs.push_back({std::move(object), {}});
    auto& parts = jobs[at->second].parts;
    if (parts.empty() || parts.back() != part) parts.push_back(part);
  };
  for (std::size_t i = 0; i < p.parts.size(); ++i) {
    const auto& part = p.parts[i];
    if (!part.selected) continue;
    if (part.is_archive()) {
      add(i, part.object());
      continue;
    }
    for (const auto& file : part.files)
      add(i, {.path = file.repo_path, .size = file.size, .digest = file.digest});
  }
  return jobs;
}

// An object under its final name: nothing to do when an earlier run or another process brought it. What
// somebody put there by other means is hashed once. False when there is none, or only a wrong one, which is
// removed then.
bool adopt_final(Prepared& p, const source::Object& object, progress::PartCounters& counters) {
  const auto facts = p.cache->look(object.digest, object.size);
  if (!facts.complete) return false;
  const auto fd = facts.sealed ? std::nullopt : p.cache->open_final(object.digest, object.size);
  if (fd) {
    const auto name = escape_for_display(object.path.str());
    if (hash::hash_file(fd->get(), object.size, object.digest.algorithm(), name, p.stop()) != object.digest) {
      p.reporter().message(progress::Level::warning,
                           name + ": the file in the cache is another one; it is fetched");
      if (p.cache->remove_bad_final(object.digest, fd->get())) return false;
      throw Error{ErrorKind::integrity,
                  fmt::format("{}: the file in the cache is another one, and may not be removed", name),
                  "remove it, or name another --download-cache"};
    }
    p.cache->seal(fd->get());
  }
  counters.bytes_done += object.size;
  return true;
}

struct Brought {
  std::uint64_t from_network = 0;
  std::uint64_t from_local = 0;
  std::vector<report::PlaceBytes> places;
};

// Brings one object into the cache; `brought` says what came in, also when it ends before its time.
void fetch_object(Workshop& shop, const source::Object& object,
                  const std::shared_ptr<progress::PartCounters>& counters, Others others, Brought& brought) {
  if (adopt_final(shop.prepared, object, *counters)) return;
  if (const auto place = copy_from_local(shop, object, counters)) {
    brought = {.from_local = object.size, .places = {{.place = *place, .bytes = object.size}}};
    return;
  }
  ObjectSupply supply{
      shop, object, nullptr, Keep::only_in_cache, counters, escape_for_display(object.path.str()), others};
  const OnExit count{[&] { brought.from_network = supply.bytes_from_network(); }};
  for (;;) {
    const auto digest = drain(supply.open());
    if (digest == object.digest) break;
    supply.refuse(digest);
  }
  brought.places = supply.from();
  shop.prepared.cache->finish(supply.release(), object.digest);
}

// Success is not assumed: somebody may have pruned what this run had brought, and the lock.
void require_all_there(Prepared& p, const std::vector<Job>& jobs, report::Result& result) {
  for (const auto& job : jobs) {
    if (p.cache->look(job.object.digest, job.object.size).complete) continue;
    for (const auto part : job.parts) {
      auto& out = result.parts[part];
      if (out.problem) continue;
      out.outcome = report::PartOutcome::failed;
      out.problem = Problem{.kind = ErrorKind::incomplete,
                            .thing = fmt::format("part {}: {} is not in the cache any more", out.name,
                                                 escape_for_display(job.object.path.str())),
                            .expected = "what this run brought",
                            .found = "nothing: another process removed it",
                            .hint = "run the same line again"};
    }
  }
  p.cache->write_lock(p.lock);
  if (!p.manifest_bytes.empty()) p.cache->write_manifest(p.lock, p.manifest_bytes);
}

void fill_cache(Prepared& p, report::Result& result) {
  const auto jobs = jobs_of(p);
  std::vector<const Job*> missing;
  std::vector<const Job*> unproven;  // put there by somebody else
  std::vector<std::uint64_t> left(p.parts.size(), 0);
  std::uint64_t total = 0;
  std::uint64_t present = 0;
  std::uint64_t copied = 0;  // of `unproven`
  for (const auto& job : jobs) {
    total += job.object.size;
    const auto facts = p.cache->look(job.object.digest, job.object.size);
    if (facts.complete) p.cache->remove_leftovers(job.object.digest, job.object.size);
    if (facts.sealed) {
      present += job.object.size;
      continue;
    }
    if (facts.complete) {
      unproven.push_back(&job);
      copied += job.object.size;
    } else {
      present += facts.landed_bytes;
      missing.push_back(&job);
    }
    for (const auto part : job.parts) ++left[part];
  }
  for (std::size_t i = 0; i < p.parts.size(); ++i)
    if (p.parts[i].selected && left[i] == 0) result.parts[i].outcome = report::PartOutcome::unchanged;
  if (!missing.empty()) {
    std::optional<source::Object> first;
    for (const auto* job : missing)
      if (!first && local_holder(p, job->object) == nullptr) first = job->object;
    const auto access = check_access(p, first);
    if (access.problem) throw Error{*access.problem};
    say_who_is_unreachable(p);
    const auto disk = fs::disk_facts(p.cache->path());
    if (!disk.writable || disk.free_bytes < total - present - copied)
      throw Error{Problem{
          .kind = ErrorKind::disk,
          .thing =
              fmt::format("the cache {} cannot take what is missing", escape_for_display(p.cache->path())),
          .expected = fmt::format("{} free and writable", format_size(total - present - copied)),
          .found = disk.writable ? format_size(disk.free_bytes) + " free" : "not writable",
          .hint = "free some space, or name another --download-cache"}};
  }
  p.cache->write_lock(p.lock);
  if (!p.manifest_bytes.empty()) p.cache->write_manifest(p.lock, p.manifest_bytes);
  missing.insert(missing.end(), unproven.begin(), unproven.end());
  if (missing.empty()) return;

  p.reporter().totals(total, present);
  p.reporter().phase("fetch");
  Workshop shop{p};
  std::vector<std::shared_ptr<progress::PartCounters>> counters(p.parts.size());
  for (const auto* job : missing)
    for (const auto part : job->parts)
      if (!counters[part]) {
        counters[part] = p.reporter().part(p.parts[part].spec.name, p.parts[part].size());
        counters[part]->phase = progress::PartPhase::fetching;
      }
  std::mutex mutex;
  WorkQueue queue{missing.size(), p,
                  [&](std::size_t i) {
                    const auto& object = missing[i]->object;
                    return p.cache->claimed_by_other(object.digest, object.size);
                  },
                  [&](std::size_t i) { return escape_for_display(missing[i]->object.path.str()); }};
  ThreadGroup threads;
  const auto count = std::min(missing.size(), static_cast<std::size_t>(p.request.connections) + 2);
  start_workers(threads, count, [&] {
    while (const auto item = queue.next()) {
      const auto& job = *missing[item->index];
      try {
        Brought brought;
        const auto add_up = [&] {
          std::lock_guard lock{mutex};
          auto& out = result.parts[job.parts.front()];
          out.bytes_from_network += brought.from_network;
          out.bytes_from_local += brought.from_local;
          take_places(out, brought.places);
        };
        {
          const OnExit adds_up{add_up};
          fetch_object(shop, job.object, counters[job.parts.front()], item->others, brought);
        }
        std::lock_guard lock{mutex};
        for (const auto part : job.parts) {
          if (--left[part] > 0 || result.parts[part].problem) continue;
          result.parts[part].outcome = report::PartOutcome::fetched;
          counters[part]->phase = progress::PartPhase::done;
        }
      } catch (const ClaimedByOther& other) {
        queue.put_back(item->index, other);
      } catch (const Error& error) {
        std::lock_guard lock{mutex};
        for (const auto part : job.parts) {
          auto& out = result.parts[part];
          auto problem = error.problem();
          problem.thing = fmt::format("part {}: {}", out.name, problem.thing);
          p.reporter().problem(problem);
          if (!out.problem) out.problem = problem;
          out.outcome = report::PartOutcome::failed;
          counters[part]->phase = progress::PartPhase::failed;
        }
      }
    }
  });
  threads.wait();
  result.dropped_places = shop.dropped();
  require_all_there(p, jobs, result);
}

}  // namespace

report::Result run_fetch(Prepared& p) {
  const auto started = p.services.clock->now();
  auto result = describe(p, "fetch");
  result.problems = p.problems;
  try {
    if (result.problems.empty()) fill_cache(p, result);
  } catch (const Interrupted& interrupted) {
    result.stopped_by = interrupted.signal;
    result.verdict = "stopped by a signal; what has arrived is kept, run the same line again to go on";
  } catch (const Error& error) {
    result.problems.push_back(error.problem());
  }
  for (const auto& part : result.parts) result.bytes_from_network += part.bytes_from_network;
  result.seconds = std::chrono::duration<double>(p.services.clock->now() - started).count();
  if (result.verdict.empty())
    result.verdict =
        report::exit_code(result) == 0
            ? fmt::format("the cache holds everything; commit {}",
                          p.lock.source.commit.empty() ? p.lock.manifest_sha256.hex() : p.lock.source.commit)
            : "not complete";
  return result;
}

}  // namespace decant::restore
