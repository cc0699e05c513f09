// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli_world.hpp"

namespace decant::test {

// Runs the program itself in a process of its own; as root it first becomes an ordinary user, for whom
// permissions mean something.
Ran run_as_ordinary_user(World& world, const Args& args);

}  // namespace decant::test
