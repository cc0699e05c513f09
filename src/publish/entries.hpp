// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <utility>

#include "decant/base/error.hpp"
#include "decant/fs/rel_path.hpp"
#include "decant/model/index.hpp"
#include "decant/state/bundle.hpp"

namespace decant::publish {

inline void require_parallel(const model::PartIndex& index, const state::Marks& marks) {
  if (index.entries.size() == marks.size()) return;
  throw Error{ErrorKind::bug, "a part's marks are not parallel to its index"};
}

// Where an entry lies below the root, told as directory and name, going from entry to entry: neighbours
// mostly share their directory, which is then not put together again.
class Locator {
 public:
  explicit Locator(const fs::RelPath& under) : under_{under} {}

  // True when the directory is another one than before.
  bool move_to(const model::IndexEntry& entry) {
    const std::string_view path = entry.path.str();
    const std::size_t slash = path.rfind('/');
    const std::string_view directory = slash == std::string_view::npos ? "" : path.substr(0, slash);
    name_ = fs::RelPath::require(slash == std::string_view::npos ? path : path.substr(slash + 1), "entry");
    if (started_ && directory == above_) return false;
    started_ = true;
    above_ = directory;
    directory_ = under_ / entry.path.parent();
    return true;
  }
  const fs::RelPath& directory() const { return directory_; }
  const fs::RelPath& name() const { return name_; }
  fs::RelPath path() const { return directory_ / name_; }

 private:
  const fs::RelPath& under_;
  bool started_ = false;
  std::string_view above_;  // of an entry, which outlives this
  fs::RelPath directory_;
  fs::RelPath name_;
};

}  // namespace decant::publish
