// SPDX-License-Identifier: Apache-2.0
#include "progress_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decant/base/bytes.hpp"
#include "decant/base/text.hpp"
#include "decant/model/json.hpp"
#include "width.hpp"

namespace decant::ui {
namespace {

using progress::PartPhase;

constexpr std::size_t k_part_lines = 8;
constexpr std::size_t k_named_in_plain = 3;
constexpr int k_name_columns = 28;
constexpr int k_narrowest_bar = 10;
constexpr int k_widest_bar = 30;

bool is_active(const PartSnapshot& part) {
  return part.phase == PartPhase::fetching || part.phase == PartPhase::unpacking ||
         part.phase == PartPhase::publishing;
}

// While verifying, the engines' "fetching" is reading from disk.
std::string_view doing(const Snapshot& snapshot, const PartSnapshot& part) {
  if (snapshot.phase == "verify" && part.phase == PartPhase::fetching) return "reading";
  return progress::to_string(part.phase);
}

std::uint64_t percent(const Snapshot& snapshot) {
  if (snapshot.bytes_total == 0) return 0;
  const double part = static_cast<double>(snapshot.bytes_done) / static_cast<double>(snapshot.bytes_total);
  // 100 only when nothing is left.
  return snapshot.bytes_done >= snapshot.bytes_total
             ? 100
             : std::min<std::uint64_t>(99, static_cast<std::uint64_t>(part * 100));
}

std::string amount(std::uint64_t done, std::uint64_t total) {
  return total == 0 ? format_size(done) : fmt::format("{} of {}", format_size(done), format_size(total));
}

std::string findings_words(const Snapshot& snapshot) {
  if (snapshot.findings == 0) return {};
  return counted(snapshot.findings, "finding", "findings");
}

// Rate, time left, findings and what is waited for, each after `separator`.
std::string tail(const Snapshot& snapshot, std::string_view separator) {
  std::string text;
  const auto add = [&](const std::string& words) {
    if (!words.empty()) text.append(separator).append(words);
  };
  if (snapshot.rate) add(format_size(*snapshot.rate) + "/s");
  const std::string left = time_left(snapshot);
  if (!left.empty()) add(left + " left");
  add(findings_words(snapshot));
  if (!snapshot.waiting.empty()) add("waiting: " + snapshot.waiting);
  return text;
}

std::vector<const PartSnapshot*> active_parts(const Snapshot& snapshot) {
  std::vector<const PartSnapshot*> active;
  for (const PartSnapshot& part : snapshot.parts) {
    if (is_active(part)) active.push_back(&part);
  }
  return active;
}

std::string bar(std::uint64_t done, std::uint64_t total, int columns) {
  const double share =
      total == 0 ? 0.0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  const auto full = static_cast<std::size_t>(share * columns);
  return '[' + std::string(full, '#') + std::string(static_cast<std::size_t>(columns) - full, '.') + ']';
}

std::uint64_t rounded_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

std::string time_left(const Snapshot& snapshot) {
  if (!snapshot.rate || *snapshot.rate == 0 || snapshot.bytes_done >= snapshot.bytes_total) return {};
  const std::uint64_t seconds = (snapshot.bytes_total - snapshot.bytes_done) / *snapshot.rate;
  if (seconds < 55) return fmt::format("about {} s", rounded_up(seconds + 1, 5));
  if (seconds < 3570) return fmt::format("about {} min", rounded_up(seconds, 60) / 60);
  if (seconds > 100 * 3600) return "more than 100 h";
  return "about " + format_duration(rounded_up(seconds, 60));
}

std::string plain_line(const Snapshot& snapshot) {
  std::string text = snapshot.phase.empty() ? "working" : escape_for_display(snapshot.phase);
  if (snapshot.bytes_total > 0) {
    text += fmt::format(" {} ({} %)", amount(snapshot.bytes_done, snapshot.bytes_total), percent(snapshot));
  }
  text += tail(snapshot, ", ");
  const auto active = active_parts(snapshot);
  for (std::size_t i = 0; i < active.size() && i < k_named_in_plain; ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "; " : ", ", doing(snapshot, *active[i]),
                        escape_for_display(active[i]->name));
  }
  if (active.size() > k_named_in_plain) text += fmt::format(" and {} more", active.size() - k_named_in_plain);
  return text;
}

std::vector<std::string> bar_lines(const Snapshot& snapshot, int columns) {
  const int room = std::max(columns - 1, 1);  // a line that fills the terminal would wrap
  const auto active = active_parts(snapshot);
  std::vector<std::string> lines;
  int name_columns = 0;
  for (const PartSnapshot* part : active) {
    name_columns = std::max(name_columns, display_width(escape_for_display(part->name)));
  }
  name_columns = std::min({name_columns, k_name_columns, room / 2});
  for (std::size_t i = 0; i < active.size() && i < k_part_lines; ++i) {
    const PartSnapshot& part = *active[i];
    std::string name = cut_to_width(escape_for_display(part.name), name_columns);
    name.append(static_cast<std::size_t>(std::max(0, name_columns - display_width(name))), ' ');
    std::string line = fmt::format("  {}  {:<10}  {}", name, doing(snapshot, part),
                                   amount(part.bytes_done, part.bytes_total));
    if (part.entries_done > 0) line += "  " + counted(part.entries_done, "entry", "entries");
    lines.push_back(cut_to_width(line, room));
  }
  if (active.size() > k_part_lines) {
    lines.push_back(cut_to_width(fmt::format("  and {} more", active.size() - k_part_lines), room));
  }
  const std::string title = snapshot.phase.empty() ? "working" : escape_for_display(snapshot.phase);
  std::string figures;
  if (snapshot.bytes_total > 0) {
    figures = fmt::format(" {} %  {}", percent(snapshot), amount(snapshot.bytes_done, snapshot.bytes_total));
  }
  figures += tail(snapshot, "  ");
  const int bar_columns = std::min(k_widest_bar, room - display_width(title) - display_width(figures) - 3);
  std::string line = title + ' ';
  if (snapshot.bytes_total > 0 && bar_columns >= k_narrowest_bar) {
    line += bar(snapshot.bytes_done, snapshot.bytes_total, bar_columns);
  }
  lines.push_back(cut_to_width(line + figures, room));
  return lines;
}

std::string json_line(const Snapshot& snapshot) {
  std::string active;
  for (const PartSnapshot* part : active_parts(snapshot)) {
    active += fmt::format(
        "{}{{\"name\":{},\"phase\":{},\"bytes_done\":{},\"bytes_total\":{},\"entries_done\":{}}}",
        active.empty() ? "" : ",", model::json_quote(part->name), model::json_quote(doing(snapshot, *part)),
        part->bytes_done, part->bytes_total, part->entries_done);
  }
  std::string text =
      fmt::format("{{\"event\":\"progress\",\"phase\":{},\"bytes_done\":{},\"bytes_total\":{}",
                  model::json_quote(snapshot.phase), snapshot.bytes_done, snapshot.bytes_total);
  if (snapshot.rate) text += fmt::format(",\"bytes_per_second\":{}", *snapshot.rate);
  if (snapshot.rate && *snapshot.rate > 0 && snapshot.bytes_done < snapshot.bytes_total) {
    text +=
        fmt::format(",\"seconds_left\":{}", (snapshot.bytes_total - snapshot.bytes_done) / *snapshot.rate);
  }
  if (!snapshot.waiting.empty()) text += ",\"waiting\":" + model::json_quote(snapshot.waiting);
  if (snapshot.findings > 0) text += fmt::format(",\"findings\":{}", snapshot.findings);
  return text + ",\"active\":[" + active + "]}";
}

}  // namespace decant::ui
