// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "decant/verify/verify.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace decant::test {

// What lies in a directory now, as what is expected from then on. In the form of with_parents().
std::vector<verify::Expected> expect_directory(const std::string& path);
verify::Expected& entry_of(verify::Tree& tree, const std::string& path);

// A tree of a few files, a directory without files and a link, and what is expected of it.
verify::Tree sample_tree(const TempDir& dir);

report::Result prove(const std::vector<verify::Tree>& trees, verify::Level level = verify::Level::every_byte,
                     int readers = 2);

// "differs bundle:data/a.bin", one a finding, in the order of the result.
std::vector<std::string> labels(const report::Result& result);
std::vector<std::string> note_labels(const report::Result& result);

}  // namespace decant::test
