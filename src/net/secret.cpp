// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <ostream>

#include "decant/net/transport.hpp"

namespace decant::net {

void Secret::wipe() noexcept {
  // The capacity too: a longer value may have been there before.
  value_.resize(value_.capacity());
  explicit_bzero(value_.data(), value_.size());
  value_.clear();
}

Secret& Secret::operator=(const Secret& other) {
  if (this != &other) {
    wipe();
    value_ = other.value_;
  }
  return *this;
}

Secret::~Secret() {
  wipe();
}

std::ostream& operator<<(std::ostream& out, const Secret&) {
  return out << "***";
}

}  // namespace decant::net
