// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decant/fetch/downloader.hpp"
#include "work_queue.hpp"
#include "workshop.hpp"

namespace decant::restore {

// What a supply may do with the bytes.
enum class Keep {
  in_cache,      // a download lands in the cache and stays there
  privately,     // a download lands in a private directory; the cache is read, never filled
  only_in_cache  // nothing is read but what has to get into the cache
};

// The bytes of one object, from the cheapest place that has them: the cache, a source that is read in place,
// the network. After wrong bytes, from the next place. Not thread-safe.
class ObjectSupply {
 public:
  // `label` names it in messages ("part data"). `private_dir` takes the partial of Keep::privately.
  ObjectSupply(Workshop& shop, source::Object object, const fs::DirHandle* private_dir, Keep keep,
               std::shared_ptr<progress::PartCounters> counters, std::string label,
               Others others = Others::ignore);

  // A reader over the whole object, from its start; valid until the next call. Throws Error{incomplete} when
  // the object is not here and --offline forbids to fetch it; ClaimedByOther when it yields to somebody who
  // brings the object to the cache.
  fetch::ObjectReader& open();
  // What was read had another digest: says so, and settles where the next open() reads. Throws
  // Error{integrity} when no place is left.
  void refuse(const hash::Digest& found);

  bool is_download() const { return download_ != nullptr; }
  std::uint64_t bytes_from_network() const { return download_ ? download_->fetched_bytes() : 0; }
  // Where the object came from, for the summary; empty: nothing had to be fetched.
  std::vector<report::PlaceBytes> from() const;
  // The download's partial, complete and of the right digest.
  cache::Partial release() { return download_->release(); }

 private:
  bool open_cached();
  bool open_in_place();
  cache::Partial begin();
  void read_file();
  [[noreturn]] void throw_not_here() const;
  void refuse_cached(Problem problem);
  void refuse_in_place(Problem problem);
  void refuse_download(Problem problem, const hash::Digest& found);
  void say(const std::string& what) const;
  std::string place_words() const;
  bool has_local_places() const;

  Workshop& shop_;
  const source::Object object_;
  const fs::DirHandle* private_dir_;
  const Keep keep_;
  const std::shared_ptr<progress::PartCounters> counters_;
  const std::string label_;
  const Others others_;
  bool skip_cached_ = false;
  std::size_t next_place_ = 0;  // places before it do not have the object, or have other bytes
  Fd fd_;
  source::Source* read_in_place_ = nullptr;
  std::optional<Problem> unreadable_;  // what kept that place from being read to its end
  std::shared_ptr<fetch::Download> download_;
  std::optional<hash::Digest> wrong_before_;  // of the last download
  std::unique_ptr<fetch::ObjectReader> reader_;
};

// Notes in the result where an object came from.
void take_places(report::PartResult& result, const std::vector<report::PlaceBytes>& places);

// Reads to the end and tells the digest; for bytes that nothing else consumes.
hash::Digest drain(fetch::ObjectReader& reader);

}  // namespace decant::restore
