// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "decant/model/index.hpp"
#include "decant/unpack/unpack.hpp"

namespace decant::unpack {

enum class Duplicates { refuse, accept_identical };

// The part's index as it grows, with what became of each entry. The reading thread adds, lanes fill in;
// everything else is for the time after the lanes have ended.
class Ledger {
 public:
  std::size_t add(model::IndexEntry entry);
  void add_root();  // an entry for the root itself takes a number and no place
  void file_done(std::size_t position, const hash::Digest& sha256, const EntryState& state);
  // The name was there already; settle_names() finds the entry that explains it, or refuses.
  void name_was_taken(std::size_t position);

  // Rules S4 and S5 over all names, byte for byte: no name twice, no entry below one that is no directory.
  // Repeated directories, and identical files if accepted, are marked to be dropped; of a directory the last
  // time counts.
  void settle_names(Duplicates duplicates);

  // The earliest entry of this path. After settle_names().
  std::optional<std::size_t> find(const fs::RelPath& path) const;
  std::size_t size() const { return entries_.size(); }
  model::IndexEntry& entry(std::size_t position) { return entries_[position]; }
  EntryState& state(std::size_t position) { return states_[position]; }
  bool dropped(std::size_t position) const;
  std::uint64_t number(std::size_t position) const;  // in the archive, from 1
  [[noreturn]] void refuse(std::size_t position, std::string_view rule, std::string_view words) const;

  // Moves index and states out, without what was dropped.
  void release(UnpackResult& result);

 private:
  void settle_pair(std::size_t before, std::size_t position, Duplicates duplicates);

  std::mutex mutex_;
  std::vector<model::IndexEntry> entries_;
  std::vector<EntryState> states_;
  std::vector<std::size_t> roots_;  // places before which a root entry stood
  std::vector<std::size_t> taken_;
  std::vector<std::size_t> order_;    // places by name, '/' before all other bytes
  std::vector<std::size_t> dropped_;  // ascending after settle_names()
};

}  // namespace decant::unpack
