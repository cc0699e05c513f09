// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "decant/fs/dir_handle.hpp"
#include "decant/fs/rel_path.hpp"

namespace decant::publish {

// The directories of a root, for looking at many entries: a few handles are kept open, as archives list
// entries by directory. Absent directories are remembered by their topmost absent parent, so nothing below
// them is asked for.
class Parents {
 public:
  enum class Kind {
    open,
    absent,
    blocked,  // `blocker`, the directory itself or a parent, is there but no real directory
  };
  struct Found {
    Kind kind = Kind::absent;
    std::optional<fs::DirHandle> dir;
    fs::RelPath blocker;
  };

  // nullptr: the root is not there yet.
  explicit Parents(const fs::DirHandle* root) : root_{root} {}
  // Good until the next call.
  const Found& at(const fs::RelPath& directory);

 private:
  struct Slot {
    bool used = false;
    fs::RelPath directory;
    Found found;
  };
  Found open(const fs::RelPath& directory);

  const fs::DirHandle* root_;
  std::array<Slot, 16> slots_;
  std::size_t oldest_ = 0;
  std::optional<fs::RelPath> absent_;
  Found nothing_;
};

}  // namespace decant::publish
