// SPDX-License-Identifier: Apache-2.0
#include "sheet.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decant/base/bytes.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::verify {
namespace {

bool same_expectation(const Expected& a, const Expected& b) {
  return a.type == b.type && a.size == b.size && a.digest == b.digest && a.target == b.target &&
         a.executable == b.executable && a.media == b.media;
}

}  // namespace

Sheet::Sheet(const Tree& tree, Level level) : closed{tree.closed}, tree_{tree}, level_{level} {
  entries_ = &tree.entries;
  if (!is_complete(tree.entries)) {
    completed_ = with_parents(tree.entries);
    entries_ = &completed_;
  }
  seen_.resize(entries_->size(), Seen::no);
  left_out_.reserve(tree.left_out.size());
  for (const fs::RelPath& path : tree.left_out) left_out_.push_back(path.str());
  std::sort(left_out_.begin(), left_out_.end());
}

bool Sheet::is_left_out(const std::string& path) const {
  if (std::binary_search(left_out_.begin(), left_out_.end(), path)) return true;
  const std::string below = path + '/';
  const auto at = std::lower_bound(left_out_.begin(), left_out_.end(), below);
  return at != left_out_.end() && at->starts_with(below);
}

bool Sheet::wants_hash(const Expected& entry) const {
  if (entry.type != ExpectedType::file) return false;
  return level_ == Level::every_byte || (level_ == Level::standard && !entry.media);
}

void Sheet::open(Ledger& ledger) {
  report::Finding missing{.kind = report::FindingKind::tree_missing, .tree = tree_.name};
  missing.expected = "a directory at " + tree_.path;
  if (!entries_->empty()) missing.note = counted(entries_->size(), "expected entry", "expected entries");
  struct stat st {};
  const int error = ::stat(tree_.path.c_str(), &st) == 0 ? 0 : errno;
  if (error == ENOENT || error == ENOTDIR) {
    missing.found = "nothing";
    return ledger.add(std::move(missing));
  }
  if (error == 0 && !S_ISDIR(st.st_mode)) {
    missing.found = "something that is no directory";
    return ledger.add(std::move(missing));
  }
  try {
    top_ = fs::DirHandle::open(tree_.path, fs::Missing::is_error);
  } catch (const Error& failure) {
    missing.kind = report::FindingKind::unreadable;
    missing.found = failure.problem().thing;
    ledger.add(std::move(missing));
  }
}

void Sheet::set_odd(std::size_t i, Seen seen, Observed observed) {
  seen_[i] = seen;
  std::lock_guard lock{mutex_};
  odd_[i] = std::move(observed);
}

void Sheet::set_hashed(std::size_t i, const hash::Digest& sha256, bool matches) {
  const Expected& entry = entries()[i];
  const bool states_it = entry.digest.valid() && entry.digest.algorithm() == hash::Algorithm::sha256;
  std::lock_guard lock{mutex_};
  const auto known = odd_.find(i);
  if (known == odd_.end() && matches && states_it) {
    seen_[i] = Seen::as_expected;
    return;
  }
  Observed observed = known == odd_.end()
                          ? Observed{.executable = entry.executable, .size = entry.size, .hex = {}}
                          : known->second;
  observed.hex = sha256.hex();
  odd_[i] = std::move(observed);
  seen_[i] = Seen::other;
}

Observed Sheet::observed(std::size_t i) const {
  if (is_shared(i)) return container_->observed(shared_[i]);
  const Expected& entry = entries()[i];
  {
    std::lock_guard lock{mutex_};
    const auto odd = odd_.find(i);
    if (odd != odd_.end()) return odd->second;
  }
  Observed observed{
      .type = entry.type, .executable = entry.executable, .size = entry.size, .hex = "size-only"};
  switch (seen_[i]) {
    case Seen::no:
    case Seen::missing:
      observed.missing = true;
      break;
    case Seen::as_expected:
      if (entry.type == ExpectedType::file) observed.hex = entry.digest.hex();
      break;
    case Seen::to_read:
    case Seen::size_only:
    case Seen::other:
      break;
  }
  if (entry.type == ExpectedType::dir) observed.hex = "-";
  if (entry.type == ExpectedType::symlink) observed.hex = hash::sha256(entry.target).hex();
  return observed;
}

report::Finding Sheet::finding(report::FindingKind kind, const Expected& entry) const {
  report::Finding finding{.kind = kind, .tree = tree_.name, .path = entry.path.str()};
  if (entry.part < tree_.parts.size()) finding.part = tree_.parts[entry.part];
  return finding;
}

void Sheet::share_from(Sheet& container, const fs::RelPath& under) {
  container_ = &container;
  shared_.assign(entries().size(), k_own);
  const std::string prefix = under.is_root() ? std::string{} : under.str() + '/';
  for (std::size_t i = 0; i < entries().size(); ++i) {
    const auto at = find_entry(container.entries(), prefix + entries()[i].path.str());
    if (at && same_expectation(entries()[i], container.entries()[*at])) {
      shared_[i] = static_cast<std::uint32_t>(*at);
    }
  }
  for (const fs::RelPath& directory : closed) {
    container.closed.push_back(directory.is_root() ? under : under / directory);
  }
}

}  // namespace decant::verify
