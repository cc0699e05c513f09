// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace decant::unpack {

// 0755 or 0644, masked by the process's umask (which is read once, without changing it).
mode_t file_mode(bool executable);

// Sets mode and time through the descriptor; `path` is for messages. Throws Error{disk}.
void set_mode(int fd, mode_t mode, std::string_view path);
void set_mtime(int fd, std::int64_t mtime, std::string_view path);

}  // namespace decant::unpack
