// SPDX-License-Identifier: Apache-2.0
#include "path_text.hpp"

#include <fmt/format.h>

#include "decant/base/text.hpp"
#include "decant/model/json.hpp"

namespace decant::model {
namespace {

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view k_digits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += k_digits[byte >> 4U];
    hex += k_digits[byte & 0x0FU];
  }
  return hex;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

std::string from_hex(const Node& node) {
  const std::string& hex = node.text();
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const int high = digit(hex[i]);
    const int low = digit(hex[i + 1]);
    if (high < 0 || low < 0) break;
    bytes += static_cast<char>(high * 16 + low);
  }
  if (bytes.size() * 2 != hex.size()) node.fail("pairs of lower-case hexadecimal digits");
  return bytes;
}

// The key that is there; the returned node points to `node` and `hex_key`.
Node member_of(const Node& node, std::string_view key, const std::string& hex_key) {
  auto hex = node.find(hex_key);
  if (hex && node.find(key)) node.fail(fmt::format("one of {} and {}", key, hex_key), "both");
  return hex ? *hex : node.require(key, "a text");
}

}  // namespace

std::string byte_member(std::string_view key, std::string_view bytes, std::string_view colon) {
  if (is_valid_utf8(bytes)) return fmt::format("\"{}\"{}{}", key, colon, json_quote(bytes));
  return fmt::format("\"{}_hex\"{}\"{}\"", key, colon, to_hex(bytes));
}

std::string read_bytes(const Node& node, std::string_view key) {
  const std::string hex_key = std::string{key} + "_hex";
  const Node child = member_of(node, key, hex_key);
  return node.find(hex_key) ? from_hex(child) : child.text();
}

fs::RelPath read_path(const Node& node, std::string_view key) {
  auto path = read_path_or_root(node, key);
  if (path.is_root())
    member_of(node, key, std::string{key} + "_hex").fail("the path of an entry", "an empty path");
  return path;
}

fs::RelPath read_path_or_root(const Node& node, std::string_view key) {
  std::string why;
  const std::string bytes = read_bytes(node, key);
  auto path = fs::RelPath::parse(bytes, &why);
  if (!path) {
    const std::string hex_key = std::string{key} + "_hex";
    member_of(node, key, hex_key)
        .fail(fmt::format("a path that stays below its root ({})", why), escape_for_display(bytes));
  }
  return *std::move(path);
}

}  // namespace decant::model
