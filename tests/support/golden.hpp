// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace decant::test {

// Compares `text` with tests/data/<name>; with DECANT_UPDATE_GOLDENS set, writes it there instead. The
// program is compiled with DECANT_TEST_DATA. A changed golden is reviewed like code.
inline void check_golden(std::string_view name, const std::string& text) {
  const std::string path = std::string{DECANT_TEST_DATA} + "/" + std::string{name};
  if (std::getenv("DECANT_UPDATE_GOLDENS")) write_file(path, text);
  INFO("golden: " << path);
  REQUIRE(exists(path));
  CHECK(text == read_file(path));
}

}  // namespace decant::test
