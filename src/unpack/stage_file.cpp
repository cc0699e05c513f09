// SPDX-License-Identifier: Apache-2.0
#include "attributes.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/unpack/unpack.hpp"

namespace decant::unpack {

fs::Stamp stage_file(const fs::DirHandle& from, const fs::RelPath& from_name, const fs::DirHandle& stage,
                     const fs::RelPath& installed) {
  auto file = from.open_file(from_name);
  const auto path = from.path_of(from_name);
  set_mode(file.get(), file_mode(false), path);
  stage.make_dirs(installed.parent());
  if (!from.rename_noreplace(from_name, stage, installed)) {
    throw Error{ErrorKind::integrity, "'" + escape_for_display(installed.str()) +
                                          "' is there already, as this file system compares names (rule S4)"};
  }
  const auto stamp = fs::stamp_of(fs::facts_of(file.get()));
  return stamp;
}

}  // namespace decant::unpack
