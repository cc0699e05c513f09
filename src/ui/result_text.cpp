// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "conflict_advice.hpp"
#include "decant/base/bytes.hpp"
#include "decant/base/text.hpp"
#include "decant/ui/ui.hpp"
#include "paint.hpp"

namespace decant::ui {
namespace {

constexpr std::size_t k_shown = 20;
constexpr std::size_t k_notes_shown = 5;

std::string with_newline(std::string text) {
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::string more(std::size_t count, std::string_view indent) {
  if (count <= k_shown) return {};
  return fmt::format("{}and {} more (--report FILE lists all)\n", indent, format_count(count - k_shown));
}

std::string comparison(const std::string& expected, const std::string& found) {
  std::string text;
  if (!expected.empty()) text += "expected " + escape_for_display(expected);
  if (!found.empty()) text += (text.empty() ? "found " : ", found ") + escape_for_display(found);
  return text;
}

std::string place(const std::string& tree, const std::string& path) {
  const std::string name = escape_for_display(tree);
  return path.empty() ? name : name + ": " + escape_for_display(path);
}

bool is_worth_a_row(const report::PartResult& part) {
  return part.outcome != report::PartOutcome::skipped && part.outcome != report::PartOutcome::unchanged;
}

std::string part_table(const report::Result& result) {
  std::vector<std::vector<std::string>> rows;
  std::uint64_t unchanged = 0;
  std::uint64_t skipped = 0;
  for (const report::PartResult& part : result.parts) {
    unchanged += part.outcome == report::PartOutcome::unchanged ? 1 : 0;
    skipped += part.outcome == report::PartOutcome::skipped ? 1 : 0;
    if (!is_worth_a_row(part)) continue;
    rows.push_back({escape_for_display(part.name), std::string{report::to_string(part.outcome)},
                    format_size(part.size), format_size(part.bytes_from_network), format_count(part.written),
                    format_count(part.adopted), escape_for_display(part.source)});
  }
  std::string text;
  if (!rows.empty()) {
    text += render_table({{"PART"},
                          {"OUTCOME"},
                          {"SIZE", true},
                          {"FETCHED", true},
                          {"WRITTEN", true},
                          {"ADOPTED", true},
                          {"FROM"}},
                         rows);
  }
  if (unchanged > 0) {
    const bool in_cache = result.command == "fetch";
    text +=
        fmt::format("{} {}\n", counted(unchanged, "part", "parts"),
                    in_cache ? "in the cache already, by name and size: restore proves the bytes"
                             : "unchanged, by size and time stamp: the bytes are proven by decant verify");
  }
  if (skipped > 0) {
    text += fmt::format("{} not selected\n", counted(skipped, "part", "parts"));
  }
  return text;
}

std::string conflict_list(const report::Result& result, const Paint& paint) {
  const auto& conflicts = result.conflicts;
  if (conflicts.empty()) return {};
  std::string text = paint.red(conflicts.size() == 1
                                   ? "1 path holds something else already:"
                                   : format_count(conflicts.size()) + " paths hold something else already:") +
                     '\n';
  for (std::size_t i = 0; i < conflicts.size() && i < k_shown; ++i) {
    const report::Conflict& conflict = conflicts[i];
    text += "  " + place(conflict.root, conflict.path);
    const std::string details = comparison(conflict.expected, conflict.found);
    if (!details.empty()) text += " (" + details + ')';
    if (!conflict.part.empty()) text += "  [part " + escape_for_display(conflict.part) + ']';
    text += '\n';
  }
  text += more(conflicts.size(), "  ");
  const auto between_parts = static_cast<std::size_t>(
      std::count_if(conflicts.begin(), conflicts.end(),
                    [](const report::Conflict& one) { return !one.other_part.empty(); }));
  return text + conflict_advice(conflicts.size() - between_parts, between_parts);
}

std::string finding_lines(const report::Finding& finding) {
  std::string text = "  " + place(finding.tree, finding.path);
  if (!finding.part.empty()) text += "  [part " + escape_for_display(finding.part) + ']';
  text += '\n';
  if (!finding.expected.empty()) text += "      expected: " + escape_for_display(finding.expected) + '\n';
  if (!finding.found.empty()) text += "      found:    " + escape_for_display(finding.found) + '\n';
  if (!finding.note.empty()) text += "      " + escape_for_display(finding.note) + '\n';
  return text;
}

// Grouped by kind in the order of a finished report, the first of each kind; every kind that occurs shows.
std::string finding_list(const report::Result& result, const Paint& paint) {
  if (result.findings.empty()) return {};
  std::vector<report::Finding> findings = result.findings;
  report::sort_findings(findings);
  std::string text = paint.red(counted(findings.size(), "finding", "findings")) + '\n';
  for (auto begin = findings.begin(); begin != findings.end();) {
    const auto end = std::find_if(
        begin, findings.end(), [&](const report::Finding& finding) { return finding.kind != begin->kind; });
    const auto count = static_cast<std::size_t>(end - begin);
    text += fmt::format("{} ({})\n", paint.bold(report::to_string(begin->kind)), format_count(count));
    for (auto at = begin; at != end && at - begin < static_cast<std::ptrdiff_t>(k_shown); ++at) {
      text += finding_lines(*at);
    }
    text += more(count, "  ");
    begin = end;
  }
  return text;
}

std::string note_list(const report::Result& result) {
  std::map<std::string, std::vector<const report::Note*>> by_kind;
  for (const report::Note& note : result.notes) by_kind[note.kind].push_back(&note);
  std::string text;
  for (const auto& [kind, notes] : by_kind) {
    text += fmt::format("Not part of the release, {} ({}):\n", escape_for_display(kind),
                        format_count(notes.size()));
    for (std::size_t i = 0; i < notes.size() && i < k_notes_shown; ++i) {
      text += "  " + place(notes[i]->tree, notes[i]->path) + '\n';
    }
    if (notes.size() > k_notes_shown)
      text += fmt::format("  and {} more\n", format_count(notes.size() - k_notes_shown));
  }
  return text;
}

std::string tree_table(const report::Result& result) {
  if (result.trees.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, counts] : result.trees) {
    rows.push_back({escape_for_display(name), format_count(counts.expected), format_count(counts.hashed),
                    format_size(counts.bytes_hashed), format_count(counts.size_only),
                    format_count(counts.extra), format_count(counts.skipped)});
  }
  return render_table({{"TREE"},
                       {"EXPECTED", true},
                       {"HASHED", true},
                       {"BYTES", true},
                       {"SIZE ONLY", true},
                       {"EXTRA", true},
                       {"SKIPPED", true}},
                      rows);
}

std::string basis_lines(const report::Result& result) {
  report::VerifyCounts sum;
  for (const auto& [name, counts] : result.trees) {
    sum.from_manifest += counts.from_manifest;
    sum.from_pinned_index += counts.from_pinned_index;
    sum.from_learned_index += counts.from_learned_index;
  }
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view origin) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_count(count), origin);
  };
  add(sum.from_manifest, "from the manifest");
  add(sum.from_pinned_index, "from pinned indexes");
  add(sum.from_learned_index, "from indexes learned while unpacking");
  return text.empty() ? text : "Expected values: " + text + '\n';
}

std::string size_only_line(const report::Result& result, const Paint& paint) {
  std::uint64_t files = 0;
  std::uint64_t hashed = 0;
  for (const auto& [name, counts] : result.trees) {
    files += counts.size_only;
    hashed += counts.hashed;
  }
  if (files == 0) return {};
  // Where anything was hashed at all, only media were left out.
  const std::string what =
      hashed == 0 ? counted(files, "file", "files") : counted(files, "media file", "media files");
  return paint.yellow(fmt::format("NOT hashed: {} by size only", what)) + '\n';
}

std::string digest_table(const report::Result& result) {
  std::vector<std::vector<std::string>> rows;
  for (const report::TreeDigest& digest : result.digests) {
    rows.push_back({digest.scope == report::DigestScope::root ? "root" : "tree",
                    escape_for_display(digest.name), digest.label()});
  }
  std::string text;
  if (!rows.empty()) text += "Digests (decant.tree/1)\n" + render_table({{""}, {""}, {""}}, rows);
  if (result.bundle_digest) text += "Compare on every node: " + result.bundle_digest->label() + '\n';
  return text;
}

std::string problem_list(const report::Result& result, const Paint& paint) {
  std::string text;
  for (const report::PartResult& part : result.parts) {
    if (!part.problem) continue;
    const std::string name = escape_for_display(part.name);
    const bool is_named = part.problem->thing.find(name) != std::string::npos;
    text += (is_named ? "" : paint.red("part " + name) + ": ") + with_newline(to_text(*part.problem));
  }
  for (const Problem& problem : result.problems) text += with_newline(to_text(problem));
  return text;
}

std::string totals_line(const report::Result& result) {
  if (result.bytes_from_network == 0 && result.bytes_written == 0) return {};
  return fmt::format("{} fetched, {} written, {}\n", format_size(result.bytes_from_network),
                     format_size(result.bytes_written),
                     format_duration(static_cast<std::uint64_t>(result.seconds)));
}

// "18.2 GB from dir:/mnt/usb, 2.1 GB from the hub"; nothing when all came from the hub.
std::string places_line(const report::Result& result) {
  const auto places = report::places_of(result);
  const bool is_plain = places.empty() || (places.size() == 1 && places.front().place == "hub");
  std::string text;
  if (!is_plain) {
    for (const report::PlaceBytes& one : places) {
      const bool takes_article = one.place == "hub" || one.place == "cache" || one.place == "directory";
      text += fmt::format("{}{} from {}{}", text.empty() ? "" : ", ", format_size(one.bytes),
                          takes_article ? "the " : "", escape_for_display(one.place));
    }
    text += '\n';
  }
  for (const std::string& name : result.dropped_places)
    text += fmt::format("Not used to the end: {}, which had wrong bytes or did not answer\n",
                        escape_for_display(name));
  return text;
}

}  // namespace

std::string render_result(const report::Result& result, int exit_code, bool color) {
  const Paint paint{color};
  std::string text;
  const auto block = [&](const std::string& lines) {
    if (!lines.empty()) text += (text.empty() ? "" : "\n") + lines;
  };
  block(part_table(result));
  block(finding_list(result, paint));
  block(conflict_list(result, paint));
  block(problem_list(result, paint));
  block(note_list(result));
  block(tree_table(result) + basis_lines(result) + size_only_line(result, paint));
  block(digest_table(result));
  std::string end = totals_line(result) + places_line(result);
  if (result.subset) end += "Subset: the selection left some entries out.\n";
  if (!result.verdict.empty()) {
    std::string verdict = escape_for_display(result.verdict);
    if (exit_code != 0) verdict += fmt::format(" (exit code {})", exit_code);
    end += (exit_code == 0 ? paint.green(verdict) : paint.red(verdict)) + '\n';
    if (!result.next.empty()) end += "  next:     " + escape_for_display(result.next) + '\n';
  }
  block(end);
  return text;
}

}  // namespace decant::ui
