// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace decant::net {

// The day this was configured (SOURCE_DATE_EPOCH where it is set), in seconds since 1970: a clock that is
// behind it is wrong.
std::int64_t built_at();

}  // namespace decant::net
