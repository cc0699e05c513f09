// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

namespace decant {

// Owns one file descriptor, or none. Move-only; the destructor closes and ignores the result.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) noexcept : fd_{fd} {}
  Fd(Fd&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept;
  // Closes and throws Error{disk} when the kernel reports a late write error.
  void close();

 private:
  int fd_ = -1;
};

}  // namespace decant
