// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_set>

#include "decant/fs/dir_handle.hpp"

namespace decant::unpack {

// The directories of one staging tree. Only the reading thread makes them, each once, so a name that is taken
// although we have not made it is a file of the archive or another spelling that the file system folds into
// the same name.
class StageDirs {
 public:
  explicit StageDirs(const fs::DirHandle& stage) : stage_{stage} {}

  // False when a component's name is taken. Throws Error{disk}.
  bool ensure(const fs::RelPath& path);
  bool ensure_parent(const fs::RelPath& path);

 private:
  const fs::DirHandle& stage_;
  std::unordered_set<std::string> made_;
  fs::RelPath last_;  // most entries lie beside the one before
};

}  // namespace decant::unpack
