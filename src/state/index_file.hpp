// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "decant/fs/dir_handle.hpp"
#include "decant/hash/digest.hpp"

namespace decant::state {

// One zstd frame, level 3, with size and checksum; the same text gives the same bytes.
std::string compress_text(std::string_view text);

// The text of such a file, when its SHA-256 is `expected`; nullopt for anything else. Decoded twice: the
// first time only hashed, so that what is kept in memory is never more than what was promised.
std::optional<std::string> read_compressed_text(const fs::DirHandle& dir, const fs::RelPath& path,
                                                const hash::Digest& expected);

}  // namespace decant::state
