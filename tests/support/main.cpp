// SPDX-License-Identifier: Apache-2.0
#ifndef DECANT_CATCH3
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif
