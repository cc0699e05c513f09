// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "decant/publish/publish.hpp"

namespace decant::publish {

// A conflict with the place it is listed at.
struct Placed {
  std::size_t part = 0;
  std::size_t entry = 0;
  Conflict conflict;
};

// Paths for which two parts bring different content, or where one brings a file or link and another something
// below it. Listed at the later of the two parts, or at the one that needs a directory. Keeps 16 bytes an
// entry and some for each directory. Paths whose hashes collide may go unnoticed here; publishing still stops
// at them.
std::vector<Placed> find_overlaps(const std::vector<StagedPart>& parts, const Stop& stop);

}  // namespace decant::publish
