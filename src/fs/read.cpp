// SPDX-License-Identifier: Apache-2.0
#include "decant/fs/read.hpp"

#include <unistd.h>

#include <cerrno>

#include "decant/base/error.hpp"

namespace decant::fs {

std::size_t pread_all(int fd, std::span<std::byte> bytes, std::uint64_t offset, std::string_view path) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got =
        ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(errno, "read", path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

}  // namespace decant::fs
