// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace decant::model {

// `text` as a quoted JSON string; invalid UTF-8 is replaced (U+FFFD). For writers that need no document
// model.
std::string json_quote(std::string_view text);

}  // namespace decant::model
