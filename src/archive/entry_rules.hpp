// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "decant/archive/archive.hpp"
#include "pax.hpp"
#include "tar_header.hpp"

namespace decant::archive {

// Everything that precedes an entry's own header.
struct Prelude {
  std::optional<PaxFacts> pax;
  std::optional<std::string> gnu_name;
  std::optional<std::string> gnu_link;
  bool empty() const { return !pax && !gnu_name && !gnu_link; }
};

// An entry as the tar says it, byte for byte, and as we understand it.
struct GuardEntry {
  ArchiveEntry entry;
  std::string raw_name;
  std::string raw_link;
  bool cleared_bits = false;
  bool external_link = false;
  std::uint64_t attributes = 0;
};

// Applies rules S1, S2, S3, S6 and S7 to one entry. Throws Refusal. `entry.number` and
// `tar_offset` are left to the caller.
GuardEntry judge(const TarHeader& header, const Prelude& prelude, const Rules& rules);

// The name that will count, for messages.
std::string effective_name(const TarHeader& header, const Prelude& prelude);

// Whether a symbolic link at `link` (below the root) can only lead inside the root, judged by its words
// alone: a relative path whose leading `..`s stay below the root and which has no `..` after a name. The
// latter could climb out through another link, so it does not count as inside.
bool stays_inside(const fs::RelPath& link, std::string_view target);

}  // namespace decant::archive
