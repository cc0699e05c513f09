// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "sheet.hpp"

namespace decant::verify {

// First pass over entries [begin, end), which share one parent directory: presence, type, size, mode, link
// target, by one lstat each. Files of the right size are left as Seen::to_read or size_only.
void look_at(Sheet& sheet, std::size_t begin, std::size_t end, Ledger& ledger, const Stop& stop);

// Lists one directory that the release made; names it does not expect become notes or findings. `directory`
// is the root for the tree's top.
void look_for_extras(Sheet& sheet, const fs::RelPath& directory, Ledger& ledger);

// "a git-lfs pointer …", "an HTML page …" when that is what stands where a file should be; empty otherwise.
std::string name_impostor(int dirfd, const char* name, const Expected& entry);

// The words of strerror.
std::string errno_words(int error);

}  // namespace decant::verify
