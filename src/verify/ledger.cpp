// SPDX-License-Identifier: Apache-2.0
#include "ledger.hpp"

#include "decant/base/text.hpp"

namespace decant::verify {

std::string to_line(const report::Finding& finding) {
  std::string line{report::to_string(finding.kind)};
  line += "  " + escape_for_display(finding.tree);
  if (!finding.path.empty()) line += ": " + escape_for_display(finding.path);
  if (!finding.part.empty()) line += " [part " + escape_for_display(finding.part) + ']';
  std::string details;
  const auto add = [&](std::string_view word, const std::string& value) {
    if (value.empty()) return;
    details.append(details.empty() ? "" : ", ").append(word).append(escape_for_display(value));
  };
  add("expected ", finding.expected);
  add("found ", finding.found);
  if (!details.empty()) line += " (" + details + ')';
  if (!finding.note.empty()) line += "; " + escape_for_display(finding.note);
  return line;
}

void Ledger::add(report::Finding finding) {
  const std::string line = to_line(finding);
  std::lock_guard lock{mutex_};
  const bool is_unreadable = finding.kind == report::FindingKind::unreadable;
  if (is_unreadable && !unreadable_.emplace(finding.tree, finding.path).second) return;
  result_.findings.push_back(std::move(finding));
  reporter_.finding(line);
}

void Ledger::add(report::Note note) {
  std::lock_guard lock{mutex_};
  result_.notes.push_back(std::move(note));
}

}  // namespace decant::verify
