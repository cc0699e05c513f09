// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "decant/fs/dir_handle.hpp"
#include "decant/verify/verify.hpp"
#include "expected.hpp"
#include "ledger.hpp"

namespace decant::verify {

// What has become of one entry. One byte each, since there may be millions; whatever is not as expected has
// an Observed beside it.
enum class Seen : std::uint8_t {
  no,  // not looked at (its tree or directory could not be opened): counts as missing in the digest
  missing,
  to_read,      // a file of the right size, to be hashed
  as_expected,  // and hashed, if it is a file
  size_only,    // a file of the right size that this level does not hash
  other,        // see odd()
};

// One tree with the state of each of its entries. Threads work on different entries at the same time.
class Sheet {
 public:
  // Throws Error{integrity} when entries of one path disagree.
  Sheet(const Tree& tree, Level level);

  const Tree& tree() const { return tree_; }
  const std::vector<Expected>& entries() const { return *entries_; }
  Level level() const { return level_; }
  bool wants_hash(const Expected& entry) const;

  // Opens the tree's directory. A tree that is not there becomes a finding.
  void open(Ledger& ledger);
  const fs::DirHandle* top() const { return top_ ? &*top_ : nullptr; }

  // Of a shared entry: the container's.
  Seen seen(std::size_t i) const { return is_shared(i) ? container_->seen_[shared_[i]] : seen_[i]; }
  void set(std::size_t i, Seen seen) { seen_[i] = seen; }
  // `observed` replaces what is expected in the digest text.
  void set_odd(std::size_t i, Seen seen, Observed observed);
  // The whole file was read: its digests as they are.
  void set_hashed(std::size_t i, const hash::Digest& sha256, bool matches);
  Observed observed(std::size_t i) const;

  report::Finding finding(report::FindingKind kind, const Expected& entry) const;

  // A declared tree inside this one: its entries are looked up here instead of being read twice. Entries that
  // this tree does not have, or expects otherwise, stay the sub-tree's own.
  void share_from(Sheet& container, const fs::RelPath& under);
  bool is_shared(std::size_t i) const { return !shared_.empty() && shared_[i] != k_own; }
  bool is_contained() const { return container_ != nullptr; }
  // True for what the selection leaves out, and for the directories that lead there.
  bool is_left_out(const std::string& path) const;

  std::vector<fs::RelPath> closed;   // the tree's own, and those of the trees inside it
  std::vector<fs::RelPath> foreign;  // tops of other trees inside this one: never extra
  std::shared_ptr<progress::PartCounters> counters;
  std::atomic<std::uint64_t> extra{0};
  std::atomic<std::uint64_t> generated{0};

 private:
  static constexpr std::uint32_t k_own = UINT32_MAX;

  const Tree& tree_;
  const Level level_;
  std::vector<Expected> completed_;  // only when the caller's entries are not in the form of with_parents()
  const std::vector<Expected>* entries_;
  std::optional<fs::DirHandle> top_;
  std::vector<Seen> seen_;
  mutable std::mutex mutex_;
  std::map<std::size_t, Observed> odd_;
  std::vector<std::string> left_out_;  // sorted
  Sheet* container_ = nullptr;
  std::vector<std::uint32_t> shared_;  // position in the container, or k_own
};

}  // namespace decant::verify
