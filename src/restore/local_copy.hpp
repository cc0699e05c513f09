// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workshop.hpp"

namespace decant::restore {

// Brings an object into the cache from the first place that is read in place and has the right bytes: blocks
// are shared where the file system can (FICLONE), else copied, never linked; every byte is hashed on the way.
// The place's name; nullopt when none has it. Throws Error{integrity} when the repo's own directory has other
// bytes.
std::optional<std::string> copy_from_local(Workshop& shop, const source::Object& object,
                                           const std::shared_ptr<progress::PartCounters>& counters);

}  // namespace decant::restore
