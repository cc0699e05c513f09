// SPDX-License-Identifier: Apache-2.0
#include "stage_dirs.hpp"

namespace decant::unpack {

bool StageDirs::ensure(const fs::RelPath& path) {
  if (path.is_root() || path == last_) return true;
  if (!made_.contains(path.str())) {
    if (!ensure(path.parent())) return false;
    if (!stage_.make_dir(path, 0755)) return false;
    made_.insert(path.str());
  }
  last_ = path;
  return true;
}

bool StageDirs::ensure_parent(const fs::RelPath& path) {
  const auto slash = path.str().rfind('/');
  if (slash == std::string::npos) return true;
  if (std::string_view{path.str()}.substr(0, slash) == last_.str()) return true;
  return ensure(path.parent());
}

}  // namespace decant::unpack
