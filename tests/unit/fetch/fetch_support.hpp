// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "decant/fetch/downloader.hpp"
#include "decant/fs/owner.hpp"
#include "decant/hash/hasher.hpp"
#include "support/temp_dir.hpp"

namespace decant::test {

using cache::k_chunk_bytes;

// Sleeps take no time but are told; `now` goes on by them.
class FakeClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override {
    return std::chrono::steady_clock::time_point{std::chrono::milliseconds{now_ms_.load()}};
  }
  std::int64_t wall_seconds() const override { return 0; }
  void sleep(std::chrono::milliseconds duration, const Stop& stop) override {
    stop.throw_if_requested();
    now_ms_ += duration.count();
    const std::lock_guard lock{mutex_};
    sleeps_.push_back(duration);
  }
  std::vector<std::chrono::milliseconds> sleeps() const {
    const std::lock_guard lock{mutex_};
    return sleeps_;
  }

 private:
  std::atomic<std::int64_t> now_ms_{1'000'000};
  mutable std::mutex mutex_;
  std::vector<std::chrono::milliseconds> sleeps_;
};

// Keeps what it is told.
class ListeningReporter final : public progress::Reporter {
 public:
  void totals(std::uint64_t, std::uint64_t) override {}
  std::shared_ptr<progress::PartCounters> part(std::string_view, std::uint64_t) override { return nullptr; }
  void message(progress::Level level, std::string_view text) override {
    if (level != progress::Level::detail) add(messages_, text);
  }
  void waiting(std::string_view what) override { add(waits_, what); }
  void problem(const Problem&) override {}
  void finding(std::string_view) override {}
  void phase(std::string_view) override {}

  std::vector<std::string> messages() const { return copy(messages_); }
  std::vector<std::string> waits() const { return copy(waits_); }

 private:
  void add(std::vector<std::string>& to, std::string_view text) {
    const std::lock_guard lock{mutex_};
    to.emplace_back(text);
  }
  std::vector<std::string> copy(const std::vector<std::string>& from) const {
    const std::lock_guard lock{mutex_};
    return from;
  }
  mutable std::mutex mutex_;
  std::vector<std::string> messages_;
  std::vector<std::string> waits_;
};

// What a request meets. Positions are in the object.
struct Fault {
  source::ReadEnd end = source::ReadEnd::interrupted;
  std::uint64_t at = 0;  // the request ends when it would hand over this byte
  std::optional<std::chrono::seconds> server_wait;
  Problem problem;
};

// Serves objects from memory. `faults` decides for each request; nullopt: it goes well.
class ScriptedSource final : public source::Source {
 public:
  using Faults = std::function<std::optional<Fault>(const source::Object&, ByteRange)>;

  explicit ScriptedSource(std::string name = "hub") : name_{std::move(name)} {}

  source::Object add(const std::string& path, std::string content) {
    source::Object object{
        .path = fs::RelPath::require(path, "test"), .size = content.size(), .digest = hash::sha256(content)};
    contents_[path] = std::move(content);
    return object;
  }
  // Other bytes than the digest says.
  void corrupt(const std::string& path, std::uint64_t at) { contents_[path][at] ^= 1; }
  void set_faults(Faults faults) { faults_ = std::move(faults); }

  std::string name() const override { return name_; }

  source::ReadOutcome read(const source::Object& object, ByteRange range, ByteSink& sink,
                           const Stop& stop) override {
    std::optional<Fault> fault;
    {
      const std::lock_guard lock{mutex_};
      requests_.push_back(range);
      if (faults_) fault = faults_(object, range);
    }
    using source::ReadEnd;
    const bool hands_over = !fault || fault->end == ReadEnd::interrupted || fault->end == ReadEnd::complete;
    source::ReadOutcome outcome;
    if (hands_over) {
      const std::string_view content = contents_.at(object.path.str());
      const std::uint64_t end = fault ? std::clamp(fault->at, range.offset, range.end()) : range.end();
      constexpr std::uint64_t k_piece = 100'000;
      for (std::uint64_t at = range.offset; at < end; at += k_piece) {
        if (on_piece) on_piece(object, at, stop);
        const auto piece = content.substr(at, std::min(k_piece, end - at));
        sink.write(as_bytes(piece));
        outcome.received += piece.size();
        served_ += piece.size();
      }
    }
    if (fault) {
      outcome.end = fault->end;
      outcome.server_wait = fault->server_wait;
      outcome.problem = fault->problem;
    }
    return outcome;
  }

  std::function<void(const source::Object&, std::uint64_t at, const Stop&)> on_piece;

  std::uint64_t served() const { return served_.load(); }
  std::vector<ByteRange> requests() const {
    const std::lock_guard lock{mutex_};
    return requests_;
  }

 private:
  const std::string name_;
  std::map<std::string, std::string> contents_;
  Faults faults_;
  mutable std::mutex mutex_;
  std::vector<ByteRange> requests_;
  std::atomic<std::uint64_t> served_{0};
};

inline fs::DirHandle open_dir(const std::string& path) {
  return fs::DirHandle::open(path, fs::Missing::is_error);
}

inline cache::Partial partial_for(const TempDir& dir, const source::Object& object) {
  return cache::Partial::claim_or_create(open_dir(dir.path()), object.digest.hex(), object.size,
                                         object.digest, Stop{});
}

inline void write_chunk(cache::Partial& partial, const std::string& content, std::uint64_t chunk) {
  const ByteRange range = partial.chunk_range(chunk);
  const Bytes bytes = as_bytes(std::string_view{content}.substr(range.offset, range.length));
  partial.write_at(range.offset, bytes);
  partial.mark_landed(chunk, hash::crc32c(0, bytes));
}

// As if the process that has the partials of this directory open had ended.
inline void kill_owners(const TempDir& dir) {
  fs::Owner owner = fs::this_process();
  owner.boot_id = "an-earlier-boot";
  for (const std::string& name : open_dir(dir.path()).list()) {
    write_file(dir / name + "/owner", fs::to_text(owner));
  }
}

// Everything a download needs, for one object.
struct Bench {
  TempDir dir;
  Stop stop;
  FakeClock clock;
  ListeningReporter reporter;
  ScriptedSource hub;
  ByteBudget budget{64 * k_mib};
  fetch::FetchOptions options{
      .connections = 4, .longest_range = 2 * k_chunk_bytes, .window = 8 * k_chunk_bytes};
  std::shared_ptr<progress::PartCounters> counters = std::make_shared<progress::PartCounters>();

  std::unique_ptr<fetch::Downloader> downloader(std::vector<source::Source*> sources = {}) {
    if (sources.empty()) sources = {&hub};
    return std::make_unique<fetch::Downloader>(std::move(sources), options, clock, reporter, stop);
  }
};

struct Read {
  std::string content;
  hash::Digest digest;
};

inline Read read_all(fetch::ObjectReader& reader) {
  Read read;
  while (const BlockPtr block = reader.next()) read.content += as_text(block->filled());
  read.digest = reader.digest();
  return read;
}

// Fetches one object whole, as restore does, and returns its bytes.
inline std::string fetch_whole(Bench& bench, const source::Object& object,
                               std::vector<source::Source*> sources = {}) {
  const auto downloader = bench.downloader(std::move(sources));
  const auto download = downloader->start(object, partial_for(bench.dir, object), bench.counters);
  const auto reader = fetch::read_download(download, object, bench.budget, bench.stop);
  const Read read = read_all(*reader);
  cache::Partial partial = download->release();
  partial.discard();
  return read.content;
}

template <class Work>
Error error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error{"nothing was thrown"};
}

}  // namespace decant::test
