// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "decant/base/threads.hpp"
#include "decant/fetch/downloader.hpp"
#include "prepared.hpp"

namespace decant::restore {

// Where the bytes of one object come from in this run, cheapest first.
enum class InputKind { cached, in_place, download };

struct ObjectInput {
  InputKind kind = InputKind::download;
  Fd fd;  // cached, in_place
  std::shared_ptr<fetch::Download> download;
  std::unique_ptr<fetch::ObjectReader> reader;
};

// The run's shared means: memory budget, one downloader made at first need. Thread-safe.
class Workshop {
 public:
  explicit Workshop(Prepared& prepared);

  // Opens the object for reading in order. `private_dir` takes the partial when there is no cache to keep it
  // (`to_cache` false). Throws Error{incomplete} when it is not here and --offline forbids to fetch.
  ObjectInput open(const source::Object& object, const fs::DirHandle& private_dir, bool to_cache,
                   bool skip_cached, const std::shared_ptr<progress::PartCounters>& counters);

  Prepared& prepared;
  ByteBudget budget;
  std::atomic<std::uint64_t> bytes_written{0};  // of unpacked content
  int stage_threads;
  int lanes;

  // Made at first need.
  fetch::Downloader& downloader();

 private:
  source::Repository& repository();
  std::mutex mutex_;
  std::unique_ptr<fetch::Downloader> downloader_;
};

// The bytes were not what the release says: what to tell.
Problem wrong_bytes(const std::string& thing, const hash::Digest& expected, const hash::Digest& found,
                    const std::string& from);

// Starts up to `count` threads over the same work; fewer when the system refuses some, Error{disk} when it
// refuses all.
void start_workers(ThreadGroup& threads, std::size_t count, const std::function<void()>& work);

// Throws it as Error after the second try; the hint says whether both tries gave the same bytes.
[[noreturn]] void refuse_wrong_bytes(Problem problem, bool same_each_time);

// Reads to the end and tells the digest; for bytes that nothing else consumes.
hash::Digest drain(fetch::ObjectReader& reader);

}  // namespace decant::restore
