// SPDX-License-Identifier: Apache-2.0
#include "attributes.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "decant/base/error.hpp"
#include "decant/fs/sys.hpp"

namespace decant::unpack {
namespace {

// umask(2) can only be read by setting it, which other threads would notice; Linux 4.7 tells it in /proc.
mode_t read_umask() {
  std::ifstream status{"/proc/self/status"};
  constexpr std::string_view k_key = "Umask:";
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, k_key.size(), k_key) == 0) {
      return static_cast<mode_t>(std::stoul(line.substr(k_key.size()), nullptr, 8));
    }
  }
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return mask;
}

}  // namespace

mode_t file_mode(bool executable) {
  static const mode_t mask = read_umask();
  return (executable ? mode_t{0755} : mode_t{0644}) & ~mask;
}

void set_mode(int fd, mode_t mode, std::string_view path) {
  if (fs::sys::fchmod(fd, mode) != 0) throw_errno(errno, "set the mode of", path);
}

void set_mtime(int fd, std::int64_t mtime, std::string_view path) {
  const struct timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, {.tv_sec = mtime, .tv_nsec = 0}};
  if (fs::sys::futimens(fd, times) != 0) throw_errno(errno, "set the time of", path);
}

}  // namespace decant::unpack
