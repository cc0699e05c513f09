// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "decant/base/text.hpp"
#include "decant/base/threads.hpp"
#include "object_input.hpp"

namespace decant::restore {

namespace {

struct Job {
  std::size_t part;
  source::Object object;
};

std::vector<Job> jobs_of(const Prepared& p) {
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < p.parts.size(); ++i) {
    const auto& part = p.parts[i];
    if (!part.selected) continue;
    if (part.is_archive()) {
      jobs.push_back(
          {i, {.path = part.spec.file.path, .size = *part.spec.file.size, .digest = *part.spec.file.digest}});
      continue;
    }
    for (const auto& file : part.files)
      jobs.push_back({i, {.path = file.repo_path, .size = file.size, .digest = file.digest}});
  }
  return jobs;
}

// Brings one object into the cache; returns the bytes that came in.
std::uint64_t fetch_object(Workshop& shop, fetch::Downloader& downloader, const source::Object& object,
                           const std::shared_ptr<progress::PartCounters>& counters,
                           std::string& source_name) {
  auto& p = shop.prepared;
  auto download = downloader.start(object, p.cache->begin(object.digest, object.size), counters);
  for (std::optional<hash::Digest> wrong_before;;) {
    auto reader = fetch::read_download(download, object, shop.budget, p.stop());
    const auto digest = drain(*reader);
    if (digest == object.digest) break;
    if (wrong_before) {
      auto problem =
          wrong_bytes(escape_for_display(object.path.str()), object.digest, digest, download->source_name());
      problem.hint =
          *wrong_before == digest
              ? "the source serves the same wrong bytes each time: tell the release's authors"
              : "each try gave other bytes: suspect the line, a proxy, memory or disk; then run again";
      auto partial = download->release();
      partial.discard();
      throw Error{problem};
    }
    wrong_before = digest;
    download->refetch_all();
  }
  source_name = download->source_name();
  const auto bytes = download->fetched_bytes();
  p.cache->finish(download->release(), object.digest);
  return bytes;
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
    ++left[job.part];
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
  fetch::FetchOptions options;
  options.connections = p.request.connections;
  fetch::Downloader downloader{
      {&p.repository().objects()}, options, *p.services.clock, p.reporter(), p.stop()};
  std::vector<std::shared_ptr<progress::PartCounters>> counters(p.parts.size());
  for (const auto* job : missing)
    if (!counters[job->part]) {
      counters[job->part] = p.reporter().part(p.parts[job->part].spec.name, p.parts[job->part].size());
      counters[job->part]->phase = progress::PartPhase::fetching;
    }
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  ThreadGroup threads;
  const auto count = std::min(missing.size(), static_cast<std::size_t>(p.request.connections) + 2);
  for (std::size_t t = 0; t < count; ++t)
    threads.start([&] {
      for (;;) {
        const auto position = next.fetch_add(1);
        if (position >= missing.size()) return;
        p.stop().throw_if_requested();
        const auto& job = *missing[position];
        auto& out = result.parts[job.part];
        try {
          std::string source_name;
          const auto bytes = fetch_object(shop, downloader, job.object, counters[job.part], source_name);
          std::lock_guard lock{mutex};
          out.bytes_from_network += bytes;
          out.source = source_name;
          if (--left[job.part] == 0) {
            out.outcome = report::PartOutcome::fetched;
            counters[job.part]->phase = progress::PartPhase::done;
          }
        } catch (const Error& error) {
          std::lock_guard lock{mutex};
          auto problem = error.problem();
          problem.thing = fmt::format("part {}: {}", out.name, problem.thing);
          p.reporter().problem(problem);
          if (!out.problem) out.problem = problem;
          out.outcome = report::PartOutcome::failed;
          counters[job.part]->phase = progress::PartPhase::failed;
        }
      }
    });
  threads.wait();
}

}  // namespace

report::Result run_fetch(Prepared& p) {
  const auto started = p.services.clock->now();
  report::Result result;
  result.command = "fetch";
  result.release_id = p.lock.release_id;
  result.commit = p.lock.source.commit;
  result.source = p.lock.source.repo;
  result.manifest_sha256 = p.lock.manifest_sha256.hex();
  result.lock_digest = p.lock_digest.hex();
  result.subset = !p.selection.is_everything();
  for (const auto& part : p.parts)
    result.parts.push_back(
        {.name = part.spec.name,
         .outcome = part.selected ? report::PartOutcome::pending : report::PartOutcome::skipped,
         .size = part.size()});
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
