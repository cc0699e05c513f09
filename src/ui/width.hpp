// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace decant::ui {

// Columns that UTF-8 text takes on a terminal: wide characters count two, combining marks none. Independent
// of the locale; bytes that are no UTF-8 count one each.
int display_width(std::string_view text);

enum class Keep { head, tail };
// At most `columns` wide; what is left out becomes "...".
std::string cut_to_width(std::string_view text, int columns, Keep keep = Keep::head);

}  // namespace decant::ui
