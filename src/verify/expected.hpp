// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "decant/verify/verify.hpp"

namespace decant::verify {

// Position of `path` in entries sorted by path.
std::optional<std::size_t> find_entry(const std::vector<Expected>& entries, std::string_view path);

// True for what with_parents() returns: sorted, each path once, every parent there.
bool is_complete(const std::vector<Expected>& entries);

}  // namespace decant::verify
