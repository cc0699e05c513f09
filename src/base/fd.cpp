// SPDX-License-Identifier: Apache-2.0
#include "decant/base/fd.hpp"

#include <unistd.h>

#include <cerrno>

#include "decant/base/error.hpp"

namespace decant {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

// Never again after EINTR: Linux has released the number by then, and another thread may own it already.
void Fd::reset() noexcept {
  if (fd_ >= 0) ::close(release());
}

void Fd::close() {
  if (fd_ < 0) return;
  if (::close(release()) != 0 && errno != EINTR) throw_errno(errno, "finish writing", "a file");
}

}  // namespace decant
