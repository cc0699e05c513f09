// SPDX-License-Identifier: Apache-2.0
#include "sealed.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "decant/base/bytes.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::state {
namespace {

constexpr std::string_view k_before_digest = R"(,"digest":")";
constexpr std::string_view k_after_digest = "\"}\n";
constexpr std::size_t k_hex_size = 64;

std::string digest_of(std::string_view before) {
  return hash::sha256(std::string{before} + std::string{k_after_digest}).hex();
}

// Parses JSON that names no key twice in one object.
std::optional<Json> parse_strictly(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  bool twice = false;
  const auto watch = [&](int /*depth*/, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) twice |= !keys.back().insert(value.get<std::string>()).second;
    return true;
  };
  Json parsed = Json::parse(text, watch, false);
  if (parsed.is_discarded() || twice || !parsed.is_object()) return std::nullopt;
  return parsed;
}

std::optional<std::string> from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]);
    const int low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

const Json* member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

std::string seal(const Json& body) {
  std::string text = body.dump();
  text.pop_back();
  text += k_before_digest;
  const std::string digest = digest_of(text);
  return text + digest + std::string{k_after_digest};
}

std::optional<Json> unseal(std::string_view text, std::string_view schema) {
  const std::size_t tail = k_hex_size + k_after_digest.size();
  if (text.size() < tail + k_before_digest.size() || !text.ends_with(k_after_digest)) return std::nullopt;
  const std::string_view before = text.substr(0, text.size() - tail);
  if (!before.ends_with(k_before_digest)) return std::nullopt;
  if (digest_of(before) != text.substr(before.size(), k_hex_size)) return std::nullopt;
  auto parsed = parse_strictly(text);
  if (!parsed || string_at(*parsed, "schema") != schema) return std::nullopt;
  return parsed;
}

std::optional<std::string> read_if_small(const fs::DirHandle& dir, const fs::RelPath& path,
                                         std::uint64_t limit) {
  try {
    return dir.read_small_file(path, limit);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::state) return std::nullopt;
    throw;
  }
}

Json text_to_json(std::string_view text) {
  if (is_valid_utf8(text)) return Json(std::string{text});
  std::string hex;
  for (const char c : text) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return Json{{"hex", hex}};
}

std::optional<std::string> text_from_json(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return std::nullopt;
  const auto hex = string_at(value, "hex");
  return hex ? from_hex(*hex) : std::nullopt;
}

std::optional<std::string> string_at(const Json& object, const char* key) {
  const Json* value = member(object, key);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return value->get<std::string>();
}

std::optional<std::uint64_t> count_at(const Json& object, const char* key) {
  const Json* value = member(object, key);
  if (value == nullptr || !value->is_number_unsigned()) return std::nullopt;
  return value->get<std::uint64_t>();
}

std::optional<bool> bool_at(const Json& object, const char* key) {
  const Json* value = member(object, key);
  if (value == nullptr || !value->is_boolean()) return std::nullopt;
  return value->get<bool>();
}

std::optional<hash::Digest> sha256_at(const Json& object, const char* key) {
  const auto hex = string_at(object, key);
  return hex ? hash::Digest::parse(hash::Algorithm::sha256, *hex) : std::nullopt;
}

}  // namespace decant::state
