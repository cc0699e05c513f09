// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decant/base/backoff.hpp"
#include "decant/base/budget.hpp"
#include "decant/base/clock.hpp"
#include "decant/base/stop.hpp"
#include "decant/base/stream.hpp"
#include "decant/cache/partial.hpp"
#include "decant/progress/reporter.hpp"
#include "decant/source/source.hpp"

// Ranges to landed to proven. Several connections, each with one bounded range at a time; ranges are started
// in order (earlier objects first) and at most `window` ahead of the contiguous prefix. There are few
// connections at first, and more for as long as that brings more bytes a second; a range is as long as one
// connection brings in some seconds. A range that breaks goes on at its last written byte, with waits that
// grow; progress resets them. A range that the prefix waits for, and that comes far slower than the others,
// is asked for anew at its last byte over a fresh connection. No HTTP in here.
namespace decant::fetch {

struct FetchOptions {
  int connections = 16;                      // at most
  std::uint64_t longest_range = 64 * k_mib;  // a multiple of the chunk size
  std::uint64_t window = 512 * k_mib;
  std::uint64_t limit_rate = 0;  // bytes per second of all connections together; 0: as fast as they come
  BackoffPolicy backoff;
};

// One object arriving in one Partial. Thread-safe.
class Download {
 public:
  virtual ~Download() = default;
  // Waits until every byte below `offset` (at most the size) has landed, and returns the length of the
  // contiguous landed prefix. Throws the Error the fetch ended with, or Interrupted.
  virtual std::uint64_t wait_for(std::uint64_t offset) = 0;
  // A chunk failed its CRC, or the whole object its digest: fetch again.
  virtual void refetch(std::uint64_t chunk) = 0;
  // False when no source is left that may be asked: the download is over.
  virtual bool refetch_all() = 0;
  virtual cache::Partial& partial() = 0;
  // Where the bytes that this run has landed came from; empty when none were fetched.
  virtual std::string source_name() const = 0;
  // The same with what each brought, in order of preference.
  struct Share {
    std::string source;
    std::uint64_t bytes = 0;
  };
  virtual std::vector<Share> shares() const = 0;
  virtual std::uint64_t fetched_bytes() const = 0;
  // Gives the partial back once no range is in flight; the download is over.
  virtual cache::Partial release() = 0;
};

class Downloader {
 public:
  // Sources in order of preference; all outlive the downloader. Threads start with the first start().
  Downloader(std::vector<source::Source*> sources, FetchOptions options, Clock& clock,
             progress::Reporter& reporter, const Stop& stop);
  ~Downloader();  // stops and joins; partials keep what has landed
  // Names of the sources that are not asked any more, since they sent wrong bytes twice or did not answer.
  std::vector<std::string> dropped() const;
  Downloader(const Downloader&) = delete;
  Downloader& operator=(const Downloader&) = delete;

  // Begins to fetch what the partial lacks. `counters` may be null.
  std::shared_ptr<Download> start(source::Object object, cache::Partial partial,
                                  std::shared_ptr<progress::PartCounters> counters);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The object's bytes in order, as blocks of at most 1 MiB: from a download as its prefix grows (chunks that
// landed earlier are checked against their CRC and fetched again when they fail), or from an open file. Every
// byte is hashed; after the end, digest() tells what they were.
class ObjectReader : public BlockSource {
 public:
  virtual hash::Digest digest() = 0;  // valid after next() gave nullptr
};
std::unique_ptr<ObjectReader> read_download(std::shared_ptr<Download> download, const source::Object& object,
                                            ByteBudget& budget, const Stop& stop);
// Throws Error{integrity} when the file is not object.size bytes long.
std::unique_ptr<ObjectReader> read_file(int fd, std::string name, const source::Object& object,
                                        ByteBudget& budget, std::shared_ptr<progress::PartCounters> counters,
                                        const Stop& stop);

}  // namespace decant::fetch
