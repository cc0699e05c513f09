// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "decant/base/bytes.hpp"

// The two ways to the same number; crc32c() takes the hardware's where there is one. They work on the
// inverted register, without the inversion before and after.
namespace decant::hash {

std::uint32_t crc32c_by_tables(std::uint32_t state, Bytes bytes) noexcept;

bool has_crc32c_instruction() noexcept;
std::uint32_t crc32c_by_instruction(std::uint32_t state, Bytes bytes) noexcept;  // only where there is one

}  // namespace decant::hash
