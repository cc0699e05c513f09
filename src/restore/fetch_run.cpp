// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "decant/base/text.hpp"
#include "decant/base/threads.hpp"
#include "object_supply.hpp"

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

// Brings one object into the cache; `bytes` gets what came in, also when it ends before its time.
void fetch_object(Workshop& shop, const source::Object& object,
                  const std::shared_ptr<progress::PartCounters>& counters, std::string& source_name,
                  std::uint64_t& bytes) {
  ObjectSupply supply{
      shop, object, nullptr, Keep::only_in_cache, counters, escape_for_display(object.path.str())};
  const OnExit count{[&] { bytes = supply.bytes_from_network(); }};
  for (;;) {
    const auto digest = drain(supply.open());
    if (digest == object.digest) break;
    supply.refuse(digest);
  }
  source_name = supply.from();
  shop.prepared.cache->finish(supply.release(), object.digest);
}

void fill_cache(Prepared& p, report::Result& result) {
  const auto jobs = jobs_of(p);
  std::vector<const Job*> missing;
  std::vector<std::uint64_t> left(p.parts.size(), 0);
  std::uint64_t total = 0;
  std::uint64_t present = 0;
  for (const auto& job : jobs) {
    total += job.object.size;
    const auto facts = p.cache->look(job.object.digest, job.object.size);
    if (facts.complete) {
      p.cache->remove_leftovers(job.object.digest, job.object.size);
      present += job.object.size;
      continue;
    }
    present += facts.landed_bytes;
    missing.push_back(&job);
    for (const auto part : job.parts) ++left[part];
  }
  for (std::size_t i = 0; i < p.parts.size(); ++i)
    if (p.parts[i].selected && left[i] == 0) result.parts[i].outcome = report::PartOutcome::unchanged;
  if (!missing.empty()) {
    p.repository().probe(missing.front()->object);
    const auto disk = fs::disk_facts(p.cache->path());
    if (!disk.writable || disk.free_bytes < total - present)
      throw Error{Problem{.kind = ErrorKind::disk,
                          .thing = fmt::format("the cache {} cannot take what is missing",
                                               escape_for_display(p.cache->path())),
                          .expected = fmt::format("{} free and writable", format_size(total - present)),
                          .found = disk.writable ? format_size(disk.free_bytes) + " free" : "not writable",
                          .hint = "free some space, or name another --download-cache"}};
  }
  p.cache->write_lock(p.lock);
  if (!p.manifest_bytes.empty()) p.cache->write_manifest(p.lock, p.manifest_bytes);
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
  std::atomic<std::size_t> next{0};
  ThreadGroup threads;
  const auto count = std::min(missing.size(), static_cast<std::size_t>(p.request.connections) + 2);
  start_workers(threads, count, [&] {
    for (;;) {
      const auto position = next.fetch_add(1);
      if (position >= missing.size()) return;
      p.stop().throw_if_requested();
      const auto& job = *missing[position];
      try {
        std::string source_name;
        {
          std::uint64_t bytes = 0;
          const OnExit add_up{[&] {
            std::lock_guard lock{mutex};
            result.parts[job.parts.front()].bytes_from_network += bytes;
          }};
          fetch_object(shop, job.object, counters[job.parts.front()], source_name, bytes);
        }
        std::lock_guard lock{mutex};
        for (const auto part : job.parts) {
          result.parts[part].source = source_name;
          if (--left[part] > 0 || result.parts[part].problem) continue;
          result.parts[part].outcome = report::PartOutcome::fetched;
          counters[part]->phase = progress::PartPhase::done;
        }
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
