// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "chunk_map.hpp"
#include "decant/base/rate_limit.hpp"
#include "decant/fetch/downloader.hpp"
#include "flight.hpp"
#include "pace.hpp"
#include "ramp.hpp"

namespace decant::fetch {

class ActiveDownload;

// What the connections, the downloads and those who wait for them share; it outlives the downloader, as
// downloads may.
struct Shared {
  Shared(std::vector<source::Source*> places, FetchOptions fetch_options, Clock& time,
         progress::Reporter& voice, const Stop& outer);

  // References and pointers are used by no one once `closed` is set.
  const std::vector<source::Source*> sources;
  const std::vector<std::string> names;  // of the sources; always there
  const FetchOptions options;
  Clock& clock;
  progress::Reporter& reporter;
  const Stop& stop;
  RateLimit limit;
  std::atomic<std::uint64_t> received{0};  // by all connections, ever

  std::mutex mutex;                 // guards all below, and the state of every ActiveDownload
  std::condition_variable work;     // there may be something to fetch
  std::condition_variable changed;  // something landed, ended, or is no longer in use
  bool closed = false;
  std::uint64_t started = 0;
  std::vector<std::shared_ptr<ActiveDownload>> active;  // those that lack something, by start
  std::vector<std::weak_ptr<ActiveDownload>> all;
  std::vector<int> wrong;     // a source's objects that failed their digest
  std::vector<bool> dropped;  // sources that are asked no more
  std::vector<std::chrono::steady_clock::time_point> paused_until;  // as a source asked for
  Ramp ramp;
  std::vector<Pace> paces;  // of the sources

  std::uint64_t missing_chunks() const;  // that nobody has asked for yet
};

class ActiveDownload final : public Download, public std::enable_shared_from_this<ActiveDownload> {
 public:
  ActiveDownload(std::shared_ptr<Shared> shared, source::Object object, cache::Partial partial,
                 std::shared_ptr<progress::PartCounters> counters);

  std::uint64_t wait_for(std::uint64_t offset) override;
  void refetch(std::uint64_t chunk) override;
  bool refetch_all() override;
  cache::Partial& partial() override;
  std::string source_name() const override;
  std::vector<Share> shares() const override;
  std::uint64_t fetched_bytes() const override { return fetched_.load(); }
  cache::Partial release() override;

  const source::Object& object() const { return object_; }
  const std::string& name() const { return name_; }
  const Stop& stop() const { return stop_; }

  // For the connections. Those that end in _locked want the shared mutex held.
  void begin_locked(std::uint64_t number);
  bool wants_work_locked() const;
  std::optional<std::size_t> source_locked() const;  // the best that still may be asked
  bool is_refused_locked(std::size_t source) const { return refused_[source] || shared_->dropped[source]; }
  bool is_sequential_locked(std::size_t source) const { return sequential_[source]; }
  std::uint64_t missing_chunks_locked() const { return chunks_.missing(); }
  void request_stop_locked(int signal);  // of all its connections
  // The next chunks to ask `source` for; in use until land_locked(). Null: none now.
  std::shared_ptr<Flight> take_off_locked(std::size_t source);
  void land_locked(const std::shared_ptr<Flight>& flight);
  const std::vector<std::shared_ptr<Flight>>& flights_locked() const { return flights_; }
  // The one that the prefix waits for; null when none is under way.
  std::shared_ptr<Flight> holder_locked() const;
  // For others that use the partial.
  bool enter_locked();  // false when there is no partial any more
  void leave_locked();
  void landed(std::uint64_t chunk, std::size_t source);
  bool is_landed(std::uint64_t chunk);
  void count(std::int64_t written, std::uint64_t received);
  void pay(std::uint64_t bytes) { shared_->limit.pay(bytes, stop_); }
  // This source is not asked again for this object. Ends the download when no other is left.
  enum class Because : std::uint8_t { failed, absent, silent };
  void refuse(std::size_t source, const Problem& problem, Because because = Because::failed);
  // True the first time.
  bool set_sequential(std::size_t source);
  void end(std::optional<Error> error, std::optional<Interrupted> interrupted);

 private:
  void end_locked(std::optional<Error> error, std::optional<Interrupted> interrupted);
  void activate_locked();
  void deactivate_locked();
  bool over_locked() const { return released_ || error_ || interrupted_; }
  Error no_source_left_locked() const;

  const std::shared_ptr<Shared> shared_;
  const source::Object object_;
  const std::shared_ptr<progress::PartCounters> counters_;
  const std::string name_;
  Stop stop_;  // of this download's connections
  std::atomic<std::uint64_t> fetched_{0};

  std::uint64_t number_ = 0;
  std::optional<cache::Partial> partial_;
  ChunkMap chunks_;
  std::vector<std::shared_ptr<Flight>> flights_;
  int users_ = 0;         // connections (and heartbeats) that use the partial now
  bool on_hold_ = false;  // everything is being dropped
  bool released_ = false;
  std::optional<Error> error_;
  std::optional<Interrupted> interrupted_;
  std::vector<std::optional<Problem>> problems_;  // why a source is refused
  std::vector<bool> refused_;
  std::vector<bool> sequential_;       // this source sends the whole object only
  std::vector<bool> delivered_;        // since everything was dropped
  std::vector<std::uint64_t> served_;  // bytes that have landed in this run
  std::vector<int> wrong_;             // this object from that source failed its digest
};

}  // namespace decant::fetch
