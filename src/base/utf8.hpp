// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace decant {

struct Decoded {
  char32_t code = 0;
  std::size_t size = 0;  // bytes used; 0: the text does not begin with a well-formed character
};

// The first character by the Unicode table of well-formed sequences: no overlong forms, surrogates, or codes
// beyond U+10FFFF.
Decoded decode_utf8(std::string_view text);

}  // namespace decant
