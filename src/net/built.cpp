// SPDX-License-Identifier: Apache-2.0
#include "built.hpp"

namespace decant::net {

std::int64_t built_at() {
  return DECANT_BUILT_AT;
}

}  // namespace decant::net
