// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "decant/ui/ui.hpp"
#include "width.hpp"

namespace decant::ui {
namespace {

constexpr std::string_view k_gap = "  ";

void append_row(const std::vector<Column>& columns, const std::vector<int>& widths,
                const std::vector<std::string>& cells, std::string& text) {
  std::string line;
  for (std::size_t i = 0; i < columns.size() && i < cells.size(); ++i) {
    const auto padding = static_cast<std::size_t>(std::max(0, widths[i] - display_width(cells[i])));
    if (i > 0) line += k_gap;
    if (columns[i].right) line.append(padding, ' ');
    line += cells[i];
    if (!columns[i].right) line.append(padding, ' ');
  }
  line.erase(line.find_last_not_of(' ') + 1);
  text += line + '\n';
}

}  // namespace

std::string render_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows) {
  std::vector<int> widths;
  std::vector<std::string> titles;
  for (const Column& column : columns) {
    widths.push_back(display_width(column.title));
    titles.push_back(column.title);
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < columns.size() && i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::string text;
  if (std::any_of(titles.begin(), titles.end(), [](const std::string& title) { return !title.empty(); })) {
    append_row(columns, widths, titles, text);
  }
  for (const auto& row : rows) append_row(columns, widths, row, text);
  return text;
}

}  // namespace decant::ui
