// SPDX-License-Identifier: Apache-2.0
#include "decant/model/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "decant/base/text.hpp"

namespace decant::model {
namespace {

// Bytes of the well-formed character at the start of `text`; 0 when there is none.
std::size_t character_size(std::string_view text) {
  for (std::size_t size = 1; size <= std::min<std::size_t>(4, text.size()); ++size) {
    if (is_valid_utf8(text.substr(0, size))) return size;
  }
  return 0;
}

void append_escaped(unsigned char byte, std::string& out) {
  switch (byte) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
  }
}

}  // namespace

std::string json_quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      if (byte < 0x20 || byte == '"' || byte == '\\' || byte == 0x7f) {
        append_escaped(byte, out);
      } else {
        out += text[i];
      }
      ++i;
      continue;
    }
    const std::size_t size = character_size(text.substr(i));
    if (size == 0) {
      out += "\xEF\xBF\xBD";  // U+FFFD
      ++i;
      continue;
    }
    if (byte == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0) {
      append_escaped(static_cast<unsigned char>(text[i + 1]), out);  // C1 controls: terminals act on them
    } else {
      out += text.substr(i, size);
    }
    i += size;
  }
  out += '"';
  return out;
}

}  // namespace decant::model
