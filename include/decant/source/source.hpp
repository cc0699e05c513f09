// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decant/base/bytes.hpp"
#include "decant/base/error.hpp"
#include "decant/base/fd.hpp"
#include "decant/base/stop.hpp"
#include "decant/fs/rel_path.hpp"
#include "decant/hash/digest.hpp"
#include "decant/model/listing.hpp"
#include "decant/model/lock.hpp"

namespace decant::source {

// A file as a release pins it.
struct Object {
  fs::RelPath path;  // in the repo
  std::uint64_t size = 0;
  hash::Digest digest;
};

enum class ReadEnd {
  complete,       // every byte of the range was handed over
  interrupted,    // fewer; worth another try at the new offset (cut, stall, 5xx, connect, expired URL)
  range_ignored,  // the source sends the file from its start; nothing was handed over
  wrong_object,   // size, commit or range differ from what was asked: the source has other bytes
  absent,         // this place does not have it, which is no fault of it
  failed,         // not worth another try: problem says why (access, tls, gone)
};

struct ReadOutcome {
  ReadEnd end = ReadEnd::complete;
  std::uint64_t received = 0;                       // bytes handed to the sink, from range.offset on
  std::optional<std::chrono::seconds> server_wait;  // the source asked for a pause
  Problem problem;                                  // set unless complete
};

// A place that has the bytes of objects. Only digests decide whether they are the right ones. Thread-safe.
class Source {
 public:
  virtual ~Source() = default;
  virtual std::string name() const = 0;  // for messages and the summary: "hub", "dir:/mnt/usb"
  // Hands the bytes of `range` to `sink` in order. The sink may throw; it is passed on.
  virtual ReadOutcome read(const Object& object, ByteRange range, ByteSink& sink, const Stop& stop) = 0;
  // For local sources: the open file, to be read in place instead of copied. nullopt: read() it.
  virtual std::optional<Fd> open_in_place(const Object&) { return std::nullopt; }
  // True when no network is needed: such a place is read in place, also with --offline.
  virtual bool is_local() const { return false; }
};

// What a repo is at a commit.
struct ResolvedRepo {
  std::string repo;    // canonical name, differs from what was asked after a rename
  std::string commit;  // 40 hex; empty for directories and mirrors
};

// Metadata of one repo (or of a directory that holds a copy of one). Failures throw Error with kind access,
// network, or state; the texts tell apart what docs/exit_codes.md tells apart. Not thread-safe.
class Repository {
 public:
  virtual ~Repository() = default;
  virtual model::SourceKind kind() const = 0;
  virtual std::string describe() const = 0;  // "datasets/ORG/NAME at https://huggingface.co", "dir:/mnt/usb"
  virtual model::LockSource lock_source() const = 0;  // after resolve() or pin()
  // Turns a branch, tag or commit into a commit. A full commit id makes no request.
  virtual ResolvedRepo resolve(const std::string& revision) = 0;
  // Uses a commit known from a lock, without any request.
  virtual void pin(const ResolvedRepo& resolved) = 0;
  // Facts about exactly these paths; absent paths are absent in the answer. One request per 500.
  virtual model::Listing paths_info(const std::vector<std::string>& paths) = 0;
  // All files below `prefix` ("" for all).
  virtual model::Listing list(const std::string& prefix) = 0;
  // A small file's exact bytes, at most `limit`; nullopt when the repo has no such file at this commit.
  // Throws Error{integrity} when `expected` is given and differs.
  virtual std::optional<std::string> read_file(const std::string& path, std::uint64_t limit,
                                               const std::optional<hash::Digest>& expected) = 0;
  // One small ranged probe of an object: can we really read it? Throws Error{access} with the exact reason.
  virtual void probe(const Object& object) = 0;
  // The byte source of this repo; lives as long as the repository.
  virtual Source& objects() = 0;
};

// `dir:PATH`: a directory that holds a copy of the repo's tree. No commit; every file is read in place.
// Throws Error{access} when PATH is no directory.
std::unique_ptr<Repository> open_directory(const std::string& path, const Stop& stop);

}  // namespace decant::source
