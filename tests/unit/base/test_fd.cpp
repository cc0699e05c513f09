// SPDX-License-Identifier: Apache-2.0
#include "decant/base/fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "decant/base/error.hpp"
#include "support/catch.hpp"

namespace {

decant::Fd open_null() {
  return decant::Fd{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
}
bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) != -1;
}

TEST_CASE("a descriptor is closed by its last owner") {
  int number = -1;
  {
    decant::Fd first = open_null();
    number = first.get();
    const decant::Fd second{std::move(first)};
    CHECK(second.get() == number);
    CHECK(is_open(number));
  }
  CHECK_FALSE(is_open(number));
}

TEST_CASE("assignment closes what was held") {
  decant::Fd kept = open_null();
  const int old = kept.get();
  decant::Fd other = open_null();
  const int fresh = other.get();
  kept = std::move(other);
  CHECK(kept.get() == fresh);
  CHECK_FALSE(is_open(old));
  const int released = kept.release();
  CHECK_FALSE(static_cast<bool>(kept));
  CHECK(is_open(released));
  ::close(released);
}

TEST_CASE("close tells what the kernel says, once") {
  decant::Fd fd = open_null();
  fd.close();
  fd.close();
  decant::Fd gone = open_null();
  ::close(gone.get());
  CHECK_THROWS_AS(gone.close(), decant::Error);
  CHECK_FALSE(static_cast<bool>(gone));
}

}  // namespace
