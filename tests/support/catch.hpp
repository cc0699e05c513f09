// SPDX-License-Identifier: Apache-2.0
#pragma once
// One name for what Catch2 2 and 3 call differently.
#ifdef DECANT_CATCH3
#include <catch2/catch_all.hpp>
namespace Catch {
inline Matchers::StringContainsMatcher Contains(const std::string& text) {
  return Matchers::ContainsSubstring(text);
}
using Matchers::EndsWith;
using Matchers::StartsWith;
}  // namespace Catch
#else
#include <catch2/catch.hpp>
#endif
