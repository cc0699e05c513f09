// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "decant/fs/dir_handle.hpp"
#include "decant/hash/digest.hpp"

// Staging directories: their names are recorded in `staging.json` before they are made, and a marker file
// inside says whose they are, so that only what decant made is ever used or removed. A recorded directory
// without marker that holds nothing is one that was being made or removed when a process died.
namespace decant::state {

std::optional<fs::DirHandle> find_staging(const fs::DirHandle& state_dir, const std::string& root_name,
                                          const fs::DirHandle& root_dir, const hash::Digest& lock,
                                          std::string* relative_name);
fs::DirHandle open_staging(const fs::DirHandle& state_dir, const std::string& root_name,
                           const fs::DirHandle& root_dir, const hash::Digest& lock,
                           std::string* relative_name);
void remove_staging(const fs::DirHandle& state_dir, const std::string& root_name,
                    const fs::DirHandle& root_dir, const hash::Digest& lock);

}  // namespace decant::state
