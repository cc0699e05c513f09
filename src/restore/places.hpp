// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "prepared.hpp"

// The further places of a run (--from), beside the repo's own.
namespace decant::restore {

// The local place that has a file of that name and size for the object; nullptr: none. Never a proof.
source::Source* local_holder(const Prepared& prepared, const source::Object& object);

// Whether what is missing can be had.
struct Access {
  std::string words;               // "granted", "not needed: nothing to fetch", …
  std::optional<Problem> problem;  // set: it cannot
};
// Asks each place that needs a network for one byte of `object`, and the repo only when none of them has it.
// What they said is added to prepared.place_facts. One that cannot be reached is not asked again in this run.
// `object`: the first one that no local place has; nullopt: none is missing.
Access check_access(Prepared& prepared, const std::optional<source::Object>& object);

// A warning for each place that check_access() could not reach.
void say_who_is_unreachable(const Prepared& prepared);

// The bytes of a small file that the lock pins, from the first further place that has them; nullopt: none
// has.
std::optional<std::string> read_pinned(Prepared& prepared, const source::Object& object);

}  // namespace decant::restore
