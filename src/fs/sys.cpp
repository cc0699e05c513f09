// SPDX-License-Identifier: Apache-2.0
#include "decant/fs/sys.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "decant/base/error.hpp"

namespace decant::fs::sys {

struct ScopedHook::State {
  Hook hook;
  std::atomic<unsigned long> calls{0};
};

// The way in for the functions below; without a hook it costs them one load.
struct Table {
  static inline std::atomic<ScopedHook::State*> hook{nullptr};

  template <class Call>
  static auto run(std::string_view name, Call call) -> decltype(call()) {
    if (ScopedHook::State* state = hook.load(std::memory_order_acquire); state != nullptr) {
      if (const int error = state->hook(name, ++state->calls); error != 0) {
        errno = error;
        return -1;
      }
    }
    for (;;) {
      const auto result = call();
      if (result != -1 || errno != EINTR) return result;
    }
  }
};

ScopedHook::ScopedHook(Hook hook) : state_{std::make_unique<State>()} {
  state_->hook = std::move(hook);
  State* none = nullptr;
  if (!Table::hook.compare_exchange_strong(none, state_.get())) {
    throw Error{ErrorKind::bug, "a hook is already installed"};
  }
}

ScopedHook::~ScopedHook() {
  Table::hook.store(nullptr);
}

unsigned long ScopedHook::calls() const {
  return state_->calls.load();
}

int open_create(int dirfd, const char* path, int flags, mode_t mode) {
  return Table::run("open_create", [&] { return ::openat(dirfd, path, flags | O_CREAT | O_CLOEXEC, mode); });
}

ssize_t write(int fd, const void* data, std::size_t size) {
  return Table::run("write", [&] { return ::write(fd, data, size); });
}

ssize_t pwrite(int fd, const void* data, std::size_t size, off_t offset) {
  return Table::run("pwrite", [&] { return ::pwrite(fd, data, size, offset); });
}

int ftruncate(int fd, off_t size) {
  return Table::run("ftruncate", [&] { return ::ftruncate(fd, size); });
}

int fchmod(int fd, mode_t mode) {
  return Table::run("fchmod", [&] { return ::fchmod(fd, mode); });
}

int chmod(const char* path, mode_t mode) {
  return Table::run("chmod", [&] { return ::chmod(path, mode); });
}

int futimens(int fd, const struct timespec times[2]) {
  return Table::run("futimens", [&] { return ::futimens(fd, times); });
}

int utimensat(int dirfd, const char* path, const struct timespec times[2], int flags) {
  return Table::run("utimensat", [&] { return ::utimensat(dirfd, path, times, flags); });
}

int mkdirat(int dirfd, const char* path, mode_t mode) {
  return Table::run("mkdirat", [&] { return ::mkdirat(dirfd, path, mode); });
}

int symlinkat(const char* target, int dirfd, const char* path) {
  return Table::run("symlinkat", [&] { return ::symlinkat(target, dirfd, path); });
}

int linkat(int from_dirfd, const char* from, int to_dirfd, const char* to) {
  return Table::run("linkat", [&] { return ::linkat(from_dirfd, from, to_dirfd, to, 0); });
}

int unlinkat(int dirfd, const char* path, int flags) {
  return Table::run("unlinkat", [&] { return ::unlinkat(dirfd, path, flags); });
}

int renameat(int from_dirfd, const char* from, int to_dirfd, const char* to) {
  return Table::run("renameat", [&] { return ::renameat(from_dirfd, from, to_dirfd, to); });
}

// By number: the C library may be built against older kernel headers than the kernel that runs.
int rename_noreplace(int from_dirfd, const char* from, int to_dirfd, const char* to) {
  return Table::run("rename_noreplace", [&] {
    return static_cast<int>(::syscall(SYS_renameat2, from_dirfd, from, to_dirfd, to,
                                      static_cast<unsigned int>(RENAME_NOREPLACE)));
  });
}

int clone_file(int to_fd, int from_fd) {
  return Table::run("clone_file", [&] { return ::ioctl(to_fd, FICLONE, from_fd); });
}

int fsync(int fd) {
  return Table::run("fsync", [&] { return ::fsync(fd); });
}

int syncfs(int fd) {
  return Table::run("syncfs", [&] { return ::syncfs(fd); });
}

void write_all(int fd, std::span<const std::byte> bytes, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t done = write(fd, bytes.data(), bytes.size());
    if (done <= 0) throw_errno(done == 0 ? EIO : errno, "write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void pwrite_all(int fd, std::span<const std::byte> bytes, off_t offset, std::string_view path) {
  while (!bytes.empty()) {
    const ssize_t done = pwrite(fd, bytes.data(), bytes.size(), offset);
    if (done <= 0) throw_errno(done == 0 ? EIO : errno, "write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += done;
  }
}

}  // namespace decant::fs::sys
