// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "decant/state/bundle.hpp"

// The marks of a part as bytes: a header line, the count, then 37 bytes an entry (docs/formats.md). No digest
// of its own: the part's record carries it.
namespace decant::state {

std::string encode_marks(const Marks& marks);
std::optional<Marks> decode_marks(std::string_view bytes);
std::uint64_t encoded_marks_size(std::uint64_t entries);

}  // namespace decant::state
