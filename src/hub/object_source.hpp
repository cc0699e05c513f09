// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "byte_host.hpp"
#include "decant/base/clock.hpp"
#include "decant/source/source.hpp"

namespace decant::hub {

// The bytes of a repo's files. The first reader of a file asks the host with the range it wants anyway,
// follows to where the bytes are, checks what the host says on the way, and reads; the place it found (a
// signed URL, or the host itself for small files) then serves all other readers, which waited meanwhile. So a
// large file costs one request to the host for the life of a signed URL, and a small one costs one request in
// all. Nothing is retried or waited for in here but one new place when an old one expired: pauses are the
// caller's.
class ObjectSource final : public source::Source {
 public:
  ObjectSource(const ByteHost& host, net::Transport& transport, Clock& clock)
      : host_{host}, transport_{transport}, clock_{clock} {}

  std::string name() const override { return host_.name(); }
  source::ReadOutcome read(const source::Object& object, ByteRange range, ByteSink& sink,
                           const Stop& stop) override;

 private:
  struct Place {
    net::Url url;
    std::optional<std::chrono::steady_clock::time_point> renew_at;
    std::uint64_t number = 0;  // counts the places of one file
  };
  struct File;
  class Resolving;
  class Reading;
  // What a reader may do now.
  struct Turn {
    std::optional<Place> place;                  // read there
    std::unique_ptr<Resolving> resolving;        // find a place
    std::optional<source::ReadOutcome> failure;  // the one who looked for a place failed like this
  };

  std::shared_ptr<File> file_of(const std::string& path);
  void forget(const std::string& path);
  Turn take_turn(const std::shared_ptr<File>& file, const Stop& stop) const;
  bool is_usable(const Place& place) const;

  static constexpr std::size_t k_most_files = 512;

  const ByteHost& host_;
  net::Transport& transport_;
  Clock& clock_;
  std::mutex mutex_;  // of files_ and uses_
  std::map<std::string, std::shared_ptr<File>> files_;
  std::uint64_t uses_ = 0;
};

}  // namespace decant::hub
