// SPDX-License-Identifier: Apache-2.0
// Preloaded into the program by test_shared_cache.cpp: every file lock succeeds and locks nothing, as with
// some mounts of cluster file systems. Each request leaves a line in the file that NO_LOCKS_LOG names.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <string_view>

namespace {

void asked(std::string_view line) {
  const char* log = std::getenv("NO_LOCKS_LOG");
  const int fd = log != nullptr ? ::open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
  if (fd < 0) return;
  if (::write(fd, line.data(), line.size()) < 0) std::abort();
  ::close(fd);
}

bool is_lock(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

int pass_on(const char* name, int fd, int command, void* argument) {
  if (is_lock(command)) {
    asked("fcntl\n");
    return 0;
  }
  using Fcntl = int (*)(int, int, ...);
  return reinterpret_cast<Fcntl>(::dlsym(RTLD_NEXT, name))(fd, command, argument);
}

}  // namespace

extern "C" {

int flock(int, int) noexcept {
  asked("flock\n");
  return 0;
}

int lockf(int, int, off_t) {
  asked("lockf\n");
  return 0;
}

// NOLINTBEGIN(cert-dcl50-cpp): the C library's own signatures
int fcntl(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return pass_on("fcntl", fd, command, argument);
}

int fcntl64(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return pass_on("fcntl64", fd, command, argument);
}
// NOLINTEND(cert-dcl50-cpp)

}  // extern "C"
