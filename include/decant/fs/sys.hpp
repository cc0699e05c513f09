// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

// The one table through which every mutating system call of decant goes, so that a test can fail or stop the
// k-th. Each function behaves as the call of its name: returns -1 and sets errno on failure. EINTR is retried
// here.
namespace decant::fs::sys {

int open_create(int dirfd, const char* path, int flags,
                mode_t mode);  // openat with O_CREAT | O_CLOEXEC added
ssize_t write(int fd, const void* data, std::size_t size);
ssize_t pwrite(int fd, const void* data, std::size_t size, off_t offset);
int ftruncate(int fd, off_t size);
int fchmod(int fd, mode_t mode);
int chmod(const char* path, mode_t mode);
int futimens(int fd, const struct timespec times[2]);
int utimensat(int dirfd, const char* path, const struct timespec times[2], int flags);
int mkdirat(int dirfd, const char* path, mode_t mode);
int symlinkat(const char* target, int dirfd, const char* path);
int linkat(int from_dirfd, const char* from, int to_dirfd, const char* to);
int unlinkat(int dirfd, const char* path, int flags);
int renameat(int from_dirfd, const char* from, int to_dirfd, const char* to);
// renameat2 with RENAME_NOREPLACE; EINVAL or ENOSYS where the file system or kernel cannot.
int rename_noreplace(int from_dirfd, const char* from, int to_dirfd, const char* to);
// ioctl FICLONE: the whole content of another file, its blocks shared. EOPNOTSUPP, EXDEV and others where the
// file system cannot.
int clone_file(int to_fd, int from_fd);
int fsync(int fd);
int syncfs(int fd);

// Called before each mutating call with its name and a running number from 1. Returning 0 lets the call
// happen; an errno value makes it fail with that, without happening. The hook may also end the process.
// Threads call it at the same time.
using Hook = std::function<int(std::string_view call, unsigned long number)>;

// Installs a hook for its lifetime (process-wide; not nested). For tests and for the kill sweep only.
class ScopedHook {
 public:
  explicit ScopedHook(Hook hook);
  ~ScopedHook();
  ScopedHook(const ScopedHook&) = delete;
  ScopedHook& operator=(const ScopedHook&) = delete;
  unsigned long calls() const;

 private:
  struct State;
  friend struct Table;
  std::unique_ptr<State> state_;
};

// Writes all bytes or throws Error{disk} naming `path`.
void write_all(int fd, std::span<const std::byte> bytes, std::string_view path);
void pwrite_all(int fd, std::span<const std::byte> bytes, off_t offset, std::string_view path);

}  // namespace decant::fs::sys
