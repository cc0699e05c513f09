// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "decant/model/json.hpp"
#include "decant/report/report.hpp"
#include "decant/ui/ui.hpp"

namespace decant::ui {
namespace {

// One JSON object on one line, built field by field in a fixed order.
class Line {
 public:
  explicit Line(std::string_view event) { text("event", event); }
  Line& text(std::string_view name, std::string_view value) { return raw(name, model::json_quote(value)); }
  Line& number(std::string_view name, std::uint64_t value) { return raw(name, std::to_string(value)); }
  Line& flag(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  Line& optional(std::string_view name, const std::optional<std::uint64_t>& value) {
    return value ? number(name, *value) : raw(name, "null");
  }
  Line& texts(std::string_view name, const std::vector<std::string>& values) {
    std::string list;
    for (const std::string& value : values) list += (list.empty() ? "" : ",") + model::json_quote(value);
    return raw(name, '[' + list + ']');
  }
  Line& raw(std::string_view name, std::string_view json) {
    line_ += fmt::format("{}{}:{}", line_.empty() ? "" : ",", model::json_quote(name), json);
    return *this;
  }
  std::string str() const { return '{' + line_ + "}\n"; }

 private:
  std::string line_;
};

std::string_view kind_word(model::PartKind kind) {
  switch (kind) {
    case model::PartKind::unpack:
      return "unpack";
    case model::PartKind::place:
      return "place";
    case model::PartKind::files:
      break;
  }
  return "files";
}

std::string part_json(const plan::PartFacts& part) {
  Line line{"plan_part"};
  line.text("name", part.name).text("path", part.shown_path).text("kind", kind_word(part.kind));
  line.text("root", part.root).number("size", part.size).number("files", part.files);
  line.text("state", plan::to_string(part.state)).number("present_bytes", part.present_bytes);
  line.flag("partial_selection", part.partial_selection);
  line.optional("unpacked_bytes", part.unpacked_bytes).optional("entries", part.entries);
  line.flag("has_list", part.has_list);
  line.number("elsewhere_bytes", part.elsewhere_bytes).texts("elsewhere", part.elsewhere);
  return line.str();
}

std::string file_system_json(const plan::FileSystemPlan& file_system) {
  Line line{"plan_file_system"};
  line.number("device", file_system.device).texts("uses", file_system.uses).text("type", file_system.type);
  line.flag("memory", file_system.is_memory).flag("writable", file_system.writable);
  line.number("to_fetch", file_system.to_fetch).number("to_write", file_system.to_write);
  line.flag("at_least", file_system.at_least).number("peak", file_system.peak);
  line.number("free", file_system.free).number("short_by", file_system.short_by);
  line.number("peak_discarding", file_system.peak_discarding);
  line.number("peak_cache_elsewhere", file_system.peak_cache_elsewhere);
  line.number("inodes_needed", file_system.inodes_needed);
  line.optional("free_inodes",
                file_system.counts_inodes ? std::optional{file_system.free_inodes} : std::nullopt);
  return line.str();
}

}  // namespace

std::string render_plan_json(const plan::Plan& plan) {
  const plan::PlanInput& input = plan.input;
  Line head{"plan"};
  head.text("source", input.headline_source)
      .text("release_id", input.release_id)
      .text("commit", input.commit);
  head.text("requested_revision", input.requested_revision)
      .flag("loose", input.loose)
      .text("access", input.access);
  head.number("to_fetch", plan.fetch_total).number("present", plan.present_total);
  head.flag("nothing_to_do", plan.nothing_to_do).number("parts_without_list", plan.parts_without_list);
  head.number("memory_budget", input.memory_budget).number("memory_available", input.memory_available);
  head.number("window_memory", plan.window_memory)
      .number("exit_code", static_cast<std::uint64_t>(plan.exit_code));
  head.text("command_line", input.command_line);
  std::string text = head.str();
  for (const auto& [root, path] : input.root_suggestions) {
    text += Line{"plan_root_suggestion"}.text("root", root).text("path", path).str();
  }
  for (const plan::PlaceFacts& place : input.places) {
    text += Line{"plan_place"}.text("place", place.place).text("answer", place.answer).str();
  }
  for (const plan::PartFacts& part : input.parts) text += part_json(part);
  for (const plan::FileSystemPlan& file_system : plan.file_systems) text += file_system_json(file_system);
  for (const std::string& conflict : input.conflicts) {
    text += Line{"plan_conflict"}.text("what", conflict).str();
  }
  for (const Problem& problem : plan.problems) text += report::problem_line(problem) + '\n';
  return text;
}

}  // namespace decant::ui
