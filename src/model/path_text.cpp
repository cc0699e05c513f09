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

}  // namespace

std::string byte_member(std::string_view key, std::string_view bytes, std::string_view colon) {
  if (is_valid_utf8(bytes)) return fmt::format("\"{}\"{}{}", key, colon, json_quote(bytes));
  return fmt::format("\"{}_hex\"{}\"{}\"", key, colon, to_hex(bytes));
}

std::string read_bytes(const Node& node, std::string_view key) {
  const auto plain = node.find(key);
  const auto hex = node.find(std::string{key} + "_hex");
  if (plain && hex) node.fail(fmt::format("one of {} and {}_hex", key, key), "both");
  return hex ? from_hex(*hex) : node.require(key, "a text").text();
}

fs::RelPath read_path(const Node& node, std::string_view key) {
  std::string why;
  const std::string bytes = read_bytes(node, key);
  auto path = fs::RelPath::parse(bytes, &why);
  if (!path || path->is_root()) {
    node.fail(fmt::format("{}: the path of an entry ({})", key, path ? "it is empty" : why),
              escape_for_display(bytes));
  }
  return *std::move(path);
}

}  // namespace decant::model
