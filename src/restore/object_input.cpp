// SPDX-License-Identifier: Apache-2.0
#include "object_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "decant/base/text.hpp"

namespace decant::restore {

Workshop::Workshop(Prepared& p) : prepared{p}, budget{p.request.memory} {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int jobs = p.request.jobs > 0 ? p.request.jobs : cores;
  stage_threads = std::clamp(jobs / 2 + 1, 1, 4);
  lanes = std::clamp(jobs, 1, 8);
}

source::Repository& Workshop::repository() {
  std::lock_guard lock{mutex_};
  return prepared.repository();
}

fetch::Downloader& Workshop::downloader() {
  auto& repo = repository();
  std::lock_guard lock{mutex_};
  if (!downloader_) {
    fetch::FetchOptions options;
    options.connections = prepared.request.connections;
    downloader_ =
        std::make_unique<fetch::Downloader>(std::vector<source::Source*>{&repo.objects()}, options,
                                            *prepared.services.clock, prepared.reporter(), prepared.stop());
  }
  return *downloader_;
}

ObjectInput Workshop::open(const source::Object& object, const fs::DirHandle& private_dir, bool to_cache,
                           bool skip_cached, const std::shared_ptr<progress::PartCounters>& counters) {
  ObjectInput input;
  auto& cache = prepared.cache;
  if (cache && !skip_cached) {
    if (auto fd = cache->open_final(object.digest, object.size)) {
      input.kind = InputKind::cached;
      cache->remove_leftovers(object.digest, object.size);
      input.fd = std::move(*fd);
      input.reader =
          fetch::read_file(input.fd.get(), object.path.str(), object, budget, counters, prepared.stop());
      return input;
    }
  }
  if (prepared.request.offline)
    throw Error{
        Problem{.kind = ErrorKind::incomplete,
                .thing = fmt::format("{} is not in the cache, and --offline forbids to fetch it",
                                     escape_for_display(object.path.str())),
                .expected = fmt::format("{} {}", to_string(object.digest.algorithm()), object.digest.hex()),
                .found = "no such file",
                .hint = "run decant fetch where there is a network, then this line again"}};
  if (auto fd = repository().objects().open_in_place(object)) {
    input.kind = InputKind::in_place;
    input.fd = std::move(*fd);
    input.reader =
        fetch::read_file(input.fd.get(), object.path.str(), object, budget, counters, prepared.stop());
    return input;
  }
  auto partial = to_cache && cache
                     ? cache->begin(object.digest, object.size, prepared.stop())
                     : cache::Partial::claim_or_create(private_dir, object.digest.hex(), object.size,
                                                       object.digest, prepared.stop());
  input.download = downloader().start(object, std::move(partial), counters);
  input.reader = fetch::read_download(input.download, object, budget, prepared.stop());
  return input;
}

Problem wrong_bytes(const std::string& thing, const hash::Digest& expected, const hash::Digest& found,
                    const std::string& from) {
  const auto name = expected.algorithm() == hash::Algorithm::sha256 ? "SHA-256" : "git blob id";
  return {.kind = ErrorKind::integrity,
          .thing = fmt::format("{}: {} differs", thing, name),
          .expected = expected.hex(),
          .found = fmt::format("{} from {}", found.hex(), from),
          .hint = {}};
}

void start_workers(ThreadGroup& threads, std::size_t count, const std::function<void()>& work) {
  for (std::size_t i = 0; i < count; ++i) {
    if (threads.try_start(work)) continue;
    if (i > 0) return;
    throw Error{ErrorKind::disk,
                "cannot start a thread: the limit of threads, processes or memory is reached",
                "raise the limit (ulimit -u, ulimit -v), or use --jobs 1 --connections 1"};
  }
}

void refuse_wrong_bytes(Problem problem, bool same_each_time) {
  problem.hint = same_each_time
                     ? "the source serves the same wrong bytes each time: tell the release's authors"
                     : "each try gave other bytes: suspect the line, a proxy, memory or disk; then run again";
  throw Error{std::move(problem)};
}

hash::Digest drain(fetch::ObjectReader& reader) {
  while (reader.next()) {
  }
  return reader.digest();
}

}  // namespace decant::restore
