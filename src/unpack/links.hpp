// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "decant/base/stop.hpp"
#include "ledger.hpp"

namespace decant::unpack {

// What comes after all files, so that no link of this archive exists while content is written. Each function
// takes places in the ledger, in archive order, after settle_names(). `under` is the part's prefix of every
// path.
struct Finishing {
  Ledger& ledger;
  const Target& target;
  const fs::RelPath& under;
  const Stop& stop;
};

// Hard links to an earlier file of the archive; index facts are copied from it. A link to a file that was
// adopted becomes a copy of it, proven by its digest, or is adopted itself where the destination holds the
// same. Throws Error{integrity} (S4, S5), and Error{usage} when a wanted link's file was not wanted. Returns
// the bytes copied.
struct WantedLink {
  std::size_t position;
  bool wanted;
};
std::uint64_t make_hard_links(const Finishing& work, const std::vector<WantedLink>& links);
void make_symlinks(const Finishing& work, const std::vector<std::size_t>& links);
void set_directory_times(const Finishing& work, const std::vector<std::size_t>& directories);

}  // namespace decant::unpack
