// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "conflict_advice.hpp"
#include "decant/base/bytes.hpp"
#include "decant/base/text.hpp"
#include "decant/ui/ui.hpp"
#include "paint.hpp"
#include "width.hpp"

namespace decant::ui {
namespace {

constexpr std::size_t k_shown = 20;
constexpr int k_path_columns = 44;

std::string at_least(bool is_bound, std::uint64_t bytes) {
  return (is_bound ? "at least " : "") + format_size(bytes);
}

std::string head(const plan::PlanInput& input, const Paint& paint) {
  std::string text;
  if (input.loose)
    text += paint.bold("Loose files, no manifest: the repo's files are restored as they are.") + '\n';
  const std::string what =
      input.release_id.empty() ? "Plan" : "Plan for " + escape_for_display(input.release_id);
  text += fmt::format("{} from {}\n", what, escape_for_display(input.headline_source));
  if (!input.commit.empty()) {
    text += "  commit  " + escape_for_display(input.commit);
    if (!input.requested_revision.empty() && input.requested_revision != input.commit) {
      text += fmt::format(" (asked for: {})", escape_for_display(input.requested_revision));
    }
    text += '\n';
  }
  if (!input.access.empty()) text += "  access  " + escape_for_display(input.access) + '\n';
  for (const plan::PlaceFacts& place : input.places) {
    text +=
        fmt::format("  from    {}: {}\n", escape_for_display(place.place), escape_for_display(place.answer));
  }
  return text;
}

// What of the part lies in further local places.
std::string elsewhere(const plan::PartFacts& part) {
  if (part.elsewhere.empty()) return {};
  std::string names;
  for (const std::string& name : part.elsewhere)
    names += (names.empty() ? "" : ", ") + escape_for_display(name);
  return part.elsewhere_bytes == part.size
             ? ", " + names
             : fmt::format(", {} of it in {}", format_size(part.elsewhere_bytes), names);
}

std::string state_words(const plan::PartFacts& part) {
  switch (part.state) {
    case plan::PartState::skipped:
      return "not selected";
    case plan::PartState::missing:
      return "missing";
    case plan::PartState::partial:
      return fmt::format("partial, {} of {}{}", format_size(part.present_bytes), format_size(part.size),
                         elsewhere(part));
    case plan::PartState::cached:
      if (!part.elsewhere.empty()) return "read in place" + elsewhere(part);
      return part.keeps_download ? "cached" : "read in place";
    case plan::PartState::staged:
      return "staged";
    case plan::PartState::published:
      break;
  }
  return "published";
}

std::string part_table(const plan::PlanInput& input) {
  std::vector<std::vector<std::string>> rows;
  for (const plan::PartFacts& part : input.parts) {
    std::string path = cut_to_width(escape_for_display(part.shown_path), k_path_columns, Keep::tail);
    if (part.kind == model::PartKind::files) path = counted(part.files, "file", "files");
    std::string state = state_words(part);
    const bool is_pending = part.state == plan::PartState::missing || part.state == plan::PartState::partial;
    if (part.partial_selection && is_pending && part.kind == model::PartKind::unpack)
      state += " (whole part for some entries)";
    rows.push_back(
        {escape_for_display(part.name), std::move(path), format_size(part.size), std::move(state)});
  }
  return render_table({{"PART"}, {"PATH"}, {"SIZE", true}, {"STATE"}}, rows);
}

std::string use_list(const plan::FileSystemPlan& file_system) {
  std::string text;
  for (const std::string& use : file_system.uses) {
    text += (text.empty() ? "" : ", ") + escape_for_display(use);
  }
  std::string type = escape_for_display(file_system.type);
  if (file_system.is_memory) type += type.empty() ? "memory" : ", in memory";
  return type.empty() ? text : fmt::format("{} ({})", text, type);
}

std::string fit_words(const plan::FileSystemPlan& file_system) {
  const bool has_work = file_system.peak > 0 || file_system.inodes_needed > 0;
  if (!file_system.writable && has_work) return "not writable";
  if (file_system.short_by > 0) return "short by " + format_size(file_system.short_by);
  if (file_system.counts_inodes && file_system.inodes_needed > file_system.free_inodes) {
    return fmt::format("short by {} inodes",
                       format_count(file_system.inodes_needed - file_system.free_inodes));
  }
  if (file_system.at_least && file_system.peak > file_system.free) return "doubtful";
  return file_system.at_least ? "as far as known" : "yes";
}

std::string disk_table(const plan::Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const plan::FileSystemPlan& file_system : plan.file_systems) {
    rows.push_back({format_size(file_system.to_fetch), at_least(file_system.at_least, file_system.to_write),
                    at_least(file_system.at_least, file_system.peak), format_size(file_system.free),
                    fit_words(file_system), use_list(file_system)});
  }
  return render_table(
      {{"TO FETCH", true}, {"TO WRITE", true}, {"PEAK", true}, {"FREE", true}, {"FITS"}, {"ON"}}, rows);
}

std::string memory_line(const plan::Plan& plan) {
  if (plan.input.memory_budget == 0) return {};
  std::string text = fmt::format("Memory: {} for decoding", format_size(plan.input.memory_budget));
  if (plan.input.memory_available > 0) {
    text += fmt::format(", {} available", format_size(plan.input.memory_available));
  }
  if (plan.window_memory > 0) {
    text += fmt::format("; part {} needs {} for its window", escape_for_display(plan.window_part),
                        format_size(plan.window_memory));
  }
  return text + '\n';
}

std::string notes(const plan::Plan& plan) {
  std::string text;
  if (std::any_of(plan.file_systems.begin(), plan.file_systems.end(), [](const plan::FileSystemPlan& one) {
        return one.at_least && one.short_by == 0 && one.peak > one.free;
      }))
    text += "No one states what some archives unpack to; it is likely more than what is free there.\n";
  if (plan.parts_without_list > 0) {
    text += counted(plan.parts_without_list, "part states no list of what it holds",
                    "parts state no list of what they hold") +
            ": conflicts there show while unpacking.\n";
  }
  for (const auto& [root, path] : plan.input.root_suggestions) {
    text += fmt::format("Root {}: the release suggests {}; it is used only when given: --root {}={}\n",
                        escape_for_display(root), escape_for_display(path), escape_for_display(root),
                        escape_for_display(path));
  }
  return text;
}

std::string conflict_list(const plan::PlanInput& input, const Paint& paint) {
  if (input.conflicts.empty()) return {};
  std::string text =
      '\n' +
      paint.red(counted(input.conflicts.size(), "path holds", "paths hold") + " something else already") +
      '\n';
  for (std::size_t i = 0; i < input.conflicts.size() && i < k_shown; ++i) {
    text += "  " + escape_for_display(input.conflicts[i]) + '\n';
  }
  if (input.conflicts.size() > k_shown) {
    text += fmt::format("  and {} more (--json lists all)\n", format_count(input.conflicts.size() - k_shown));
  }
  return text + conflict_advice(input.conflicts.size() - input.conflicts_between_parts,
                                input.conflicts_between_parts);
}

}  // namespace

std::string render_plan(const plan::Plan& plan, bool color) {
  const Paint paint{color};
  const plan::PlanInput& input = plan.input;
  std::string text = head(input, paint);
  if (!input.parts.empty()) text += '\n' + part_table(input);
  text += '\n';
  if (!plan.nothing_to_do) {
    text += fmt::format("To fetch: {}", format_size(plan.fetch_total));
    if (plan.present_total > 0) text += fmt::format("; here already: {}", format_size(plan.present_total));
    text += '\n';
    if (!plan.file_systems.empty()) text += '\n' + disk_table(plan) + '\n';
    text += memory_line(plan) + notes(plan);
  }
  text += conflict_list(input, paint);
  for (const Problem& problem : plan.problems) {
    text += '\n' + to_text(problem);
    if (!text.ends_with('\n')) text += '\n';
  }
  if (!plan.nothing_to_do || plan.exit_code != 0) text += '\n';
  if (plan.nothing_to_do && plan.exit_code == 0) {
    return text +
           paint.green("Nothing to do: every selected part is in place; decant verify proves the bytes.") +
           '\n';
  }
  if (plan.exit_code == 0) {
    text += paint.green("Restore would succeed now:") + '\n';
  } else {
    text += paint.red(fmt::format("Restore would stop now with exit code {}. When that is settled:",
                                  plan.exit_code)) +
            '\n';
  }
  return text + input.command_line + '\n';
}

}  // namespace decant::ui
