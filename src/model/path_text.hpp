// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "node.hpp"

namespace decant::model {

// `"key":"text"`, or `"key_hex":"…"` when the bytes are not UTF-8: JSON text cannot hold those.
std::string byte_member(std::string_view key, std::string_view bytes, std::string_view colon = ":");
// The bytes that byte_member() wrote; exactly one of the two keys must be there.
std::string read_bytes(const Node& node, std::string_view key);
// The same, as a path.
fs::RelPath read_path(const Node& node, std::string_view key);  // not the root
fs::RelPath read_path_or_root(const Node& node, std::string_view key);

}  // namespace decant::model
