// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "decant/fs/dir_handle.hpp"
#include "decant/hash/digest.hpp"

// Small state files: one JSON object on one line whose last key, "digest", is the SHA-256 of the text with
// that value empty. So a cut, edited or half-copied record is told from a good one without trusting the file
// system.
namespace decant::state {

using Json = nlohmann::ordered_json;

inline constexpr std::uint64_t k_small_limit = 16ULL << 20;

std::string seal(const Json& body);
// nullopt: not sealed by seal(), duplicate keys, or another schema.
std::optional<Json> unseal(std::string_view text, std::string_view schema);

// As DirHandle::read_small_file, but a file that is too large counts as none.
std::optional<std::string> read_if_small(const fs::DirHandle& dir, const fs::RelPath& path,
                                         std::uint64_t limit = k_small_limit);

// Text of any bytes: a string when it is UTF-8, else {"hex": "…"}.
Json text_to_json(std::string_view text);
std::optional<std::string> text_from_json(const Json& value);

// Members of an object that have the wanted type, else nullopt.
std::optional<std::string> string_at(const Json& object, const char* key);
std::optional<std::uint64_t> count_at(const Json& object, const char* key);
std::optional<bool> bool_at(const Json& object, const char* key);
std::optional<hash::Digest> sha256_at(const Json& object, const char* key);

}  // namespace decant::state
