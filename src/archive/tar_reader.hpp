// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decant/archive/archive.hpp"

namespace decant::archive {

// read_archive below the zstd layer: `decoded` is the tar stream itself.
ArchiveSummary read_tar(BlockSource& decoded, const Rules& rules, EntrySink& sink, const Stop& stop);

}  // namespace decant::archive
