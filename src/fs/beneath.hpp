// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decant/fs/rel_path.hpp"

namespace decant::fs {

// Opens `rel` below the directory `dirfd` for anything but creating (O_CLOEXEC and O_NOFOLLOW added) and
// follows no link on the way. The root is opened anew. As a system call: -1 and errno; a link in the way
// gives ELOOP or ENOTDIR.
int open_beneath(int dirfd, const RelPath& rel, int flags);

// The two ways it does that. openat2 is used where a first try shows that the kernel (ENOSYS) and a
// container's filter (EPERM) let it.
int open_by_openat2(int dirfd, const char* path, int flags);
int open_by_walking(int dirfd, const RelPath& rel, int flags);

// For tests: as if the kernel had no openat2.
class ScopedNoOpenat2 {
 public:
  ScopedNoOpenat2();
  ~ScopedNoOpenat2();
  ScopedNoOpenat2(const ScopedNoOpenat2&) = delete;
  ScopedNoOpenat2& operator=(const ScopedNoOpenat2&) = delete;
};

}  // namespace decant::fs
