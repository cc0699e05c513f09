// SPDX-License-Identifier: Apache-2.0
#include "beneath.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "decant/base/fd.hpp"

namespace decant::fs {
namespace {

std::atomic<bool> g_no_openat2{false};

int openat2_once(int dirfd, const char* path, int flags, __u64 resolve) {
  open_how how{};
  how.flags = static_cast<__u64>(flags);
  how.resolve = resolve;
  for (;;) {
    const auto fd = static_cast<int>(::syscall(SYS_openat2, dirfd, path, &how, sizeof how));
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

int openat_once(int dirfd, const char* path, int flags) {
  for (;;) {
    const int fd = ::openat(dirfd, path, flags | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

// Asked with a path that opens whenever the call exists: later on EPERM may as well be the file's own.
bool has_openat2() {
  static const bool has = [] {
    const Fd probe{openat2_once(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC,
                                RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)};
    return static_cast<bool>(probe);
  }();
  return has && !g_no_openat2.load(std::memory_order_relaxed);
}

}  // namespace

int open_by_openat2(int dirfd, const char* path, int flags) {
  return openat2_once(dirfd, path, flags | O_NOFOLLOW | O_CLOEXEC,
                      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

int open_by_walking(int dirfd, const RelPath& rel, int flags) {
  if (rel.is_root()) return openat_once(dirfd, ".", flags);
  Fd directory;
  const std::string& text = rel.str();
  std::size_t begin = 0;
  for (;;) {
    const int at = directory ? directory.get() : dirfd;
    const std::size_t end = text.find('/', begin);
    if (end == std::string::npos) return openat_once(at, text.c_str() + begin, flags);
    directory = Fd{openat_once(at, text.substr(begin, end - begin).c_str(), O_PATH | O_DIRECTORY)};
    if (!directory) return -1;
    begin = end + 1;
  }
}

int open_beneath(int dirfd, const RelPath& rel, int flags) {
  if (has_openat2()) {
    // EAGAIN: something was renamed meanwhile and the kernel cannot tell whether we are still beneath.
    constexpr int k_tries = 100;
    for (int i = 0; i < k_tries; ++i) {
      const int fd = open_by_openat2(dirfd, rel.is_root() ? "." : rel.str().c_str(), flags);
      if (fd >= 0 || errno != EAGAIN) return fd;
    }
  }
  return open_by_walking(dirfd, rel, flags);
}

ScopedNoOpenat2::ScopedNoOpenat2() {
  g_no_openat2 = true;
}
ScopedNoOpenat2::~ScopedNoOpenat2() {
  g_no_openat2 = false;
}

}  // namespace decant::fs
