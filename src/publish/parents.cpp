// SPDX-License-Identifier: Apache-2.0
#include "parents.hpp"

#include <utility>

namespace decant::publish {
namespace {

// `directory` cut to its first `depth` components.
fs::RelPath ancestor(const fs::RelPath& directory, std::size_t depth) {
  fs::RelPath result = directory;
  for (std::size_t left = directory.depth(); left > depth; --left) result = result.parent();
  return result;
}

}  // namespace

const Parents::Found& Parents::at(const fs::RelPath& directory) {
  if (root_ == nullptr || (absent_ && directory.is_within(*absent_))) return nothing_;
  for (const Slot& slot : slots_) {
    if (slot.used && slot.directory == directory) return slot.found;
  }
  Found found = open(directory);
  if (found.kind == Kind::absent) {
    absent_ = found.blocker;
    return nothing_;
  }
  Slot& slot = slots_[oldest_];
  oldest_ = (oldest_ + 1) % slots_.size();
  slot = Slot{true, directory, std::move(found)};
  return slot.found;
}

Parents::Found Parents::open(const fs::RelPath& directory) {
  if (auto dir = root_->open_dir_if_there(directory)) return {Kind::open, std::move(dir), {}};
  for (std::size_t depth = 1; depth <= directory.depth(); ++depth) {
    fs::RelPath part = ancestor(directory, depth);
    const auto facts = root_->stat(part);
    if (!facts) return {Kind::absent, std::nullopt, std::move(part)};
    if (facts->type != fs::FileType::dir) return {Kind::blocked, std::nullopt, std::move(part)};
  }
  // Made in this very moment.
  if (auto dir = root_->open_dir_if_there(directory)) return {Kind::open, std::move(dir), {}};
  return {Kind::absent, std::nullopt, directory};
}

}  // namespace decant::publish
