// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "decant/base/fd.hpp"
#include "decant/hash/hasher.hpp"
#include "ledger.hpp"

namespace decant::unpack {

// One file of the archive on its way to a lane.
struct FileJob {
  std::size_t position = 0;  // in the ledger
  fs::RelPath path;          // below the root
  std::uint64_t size = 0;
  std::int64_t mtime = 0;
  bool executable = false;
  bool wanted = true;
};

// Hashes one file after another and brings each to its place: unwanted ones nowhere; where the destination
// holds a regular file of the same size and execute bit, by comparing; else by writing a new file. A file
// that is compared and differs is written after all: the equal prefix is copied from the destination, and the
// staged file read back.
class FileWriter {
 public:
  // `stop` ends what takes long besides data(): reading back what was compared.
  FileWriter(const Target& target, Ledger& ledger, progress::PartCounters* counters, const Stop& stop);

  void begin(FileJob job);
  void data(Bytes bytes);
  void end();
  std::uint64_t bytes_written() const { return bytes_written_; }

 private:
  enum class Way { hash_only, compare, write };

  void create();
  bool open_existing();
  bool is_same(Bytes bytes);
  void diverge();
  void write(Bytes bytes);
  EntryState finish_staged(const hash::Digest& sha256);
  EntryState finish_adopted();
  std::string staged_path() const { return target_.stage->path_of(job_.path); }

  Target target_;
  Ledger& ledger_;
  progress::PartCounters* counters_;
  const Stop& stop_;

  FileJob job_;
  Way way_ = Way::hash_only;
  bool read_back_ = false;
  std::uint64_t offset_ = 0;
  Fd staged_;
  Fd existing_;
  hash::Hasher hasher_;
  std::vector<std::byte> buffer_;  // of the existing file; made when first needed
  std::optional<fs::DirHandle> directory_;
  fs::RelPath directory_path_;
  std::uint64_t bytes_written_ = 0;
};

}  // namespace decant::unpack
