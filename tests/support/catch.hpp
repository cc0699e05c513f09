// SPDX-License-Identifier: Apache-2.0
#pragma once
// One name for the header that Catch2 2 and 3 call differently.
#ifdef DECANT_CATCH3
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
