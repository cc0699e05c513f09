// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace decant::fs {

// Reads at `offset` until `bytes` is full or the file ends: fewer than asked for only there. Throws
// Error{disk} naming `path`.
std::size_t pread_all(int fd, std::span<std::byte> bytes, std::uint64_t offset, std::string_view path);

}  // namespace decant::fs
