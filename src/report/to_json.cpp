// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "decant/base/text.hpp"
#include "decant/report/report.hpp"
#include "json_object.hpp"

namespace decant::report {
namespace {

// A path that had to be escaped also stands as hex, so that its bytes can be had back without rules.
void add_path(JsonObject& object, std::string_view path) {
  const std::string shown = escape_for_display(path);
  object.text("path", shown);
  if (shown == path) return;
  std::string hex;
  for (const char c : path) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  object.text("path_hex", hex);
}

JsonObject object_of(const Problem& problem) {
  JsonObject object;
  object.text("kind", to_string(problem.kind)).number("exit_code", decant::exit_code(problem.kind));
  object.text("thing", problem.thing)
      .text_if_any("expected", problem.expected)
      .text_if_any("found", problem.found);
  object.text_if_any("hint", problem.hint);
  return object;
}

JsonObject object_of(const Finding& finding) {
  JsonObject object;
  object.text("kind", to_string(finding.kind)).text("tree", finding.tree);
  add_path(object, finding.path);
  object.text_if_any("part", finding.part).text_if_any("expected", finding.expected);
  object.text_if_any("found", finding.found).text_if_any("note", finding.note);
  return object;
}

JsonObject object_of(const Conflict& conflict) {
  JsonObject object;
  object.text("part", conflict.part).text("root", conflict.root);
  add_path(object, conflict.path);
  object.text("expected", conflict.expected).text("found", conflict.found);
  object.text_if_any("other_part", conflict.other_part);
  return object;
}

JsonObject object_of(const Note& note) {
  JsonObject object;
  object.text("kind", note.kind).text("tree", note.tree);
  add_path(object, note.path);
  return object;
}

std::string places_json(const std::vector<PlaceBytes>& places) {
  std::string text;
  for (const PlaceBytes& one : places) {
    JsonObject object;
    object.text("place", one.place).number("bytes", one.bytes);
    text += (text.empty() ? "" : ", ") + object.str();
  }
  return "[" + text + "]";
}

JsonObject object_of(const PartResult& part) {
  JsonObject object;
  object.text("name", escape_for_display(part.name)).text("outcome", to_string(part.outcome));
  object.number("size", part.size).number("bytes_from_network", part.bytes_from_network);
  object.number("bytes_from_local", part.bytes_from_local).number("entries", part.entries);
  object.number("written", part.written).number("adopted", part.adopted);
  object.text_if_any("source", part.source);
  if (!part.from.empty()) object.raw("from", places_json(part.from));
  if (part.problem) object.raw("problem", object_of(*part.problem).str());
  return object;
}

JsonObject object_of(const VerifyCounts& counts) {
  JsonObject object;
  object.number("expected", counts.expected)
      .number("hashed", counts.hashed)
      .number("size_only", counts.size_only);
  object.number("bytes_hashed", counts.bytes_hashed).number("from_manifest", counts.from_manifest);
  object.number("from_pinned_index", counts.from_pinned_index);
  object.number("from_learned_index", counts.from_learned_index);
  object.number("extra", counts.extra)
      .number("generated", counts.generated)
      .number("skipped", counts.skipped);
  return object;
}

template <class Item>
std::string line_of(std::string_view event, const Item& item) {
  JsonObject line;
  line.text("event", event);
  return "{" + line.members() + ", " + object_of(item).members() + "}";
}

std::string counts_of(const Result& result) {
  std::map<PartOutcome, std::uint64_t> outcomes;
  std::uint64_t written = 0;
  std::uint64_t adopted = 0;
  for (const PartResult& part : result.parts) {
    ++outcomes[part.outcome];
    written += part.written;
    adopted += part.adopted;
  }
  JsonObject object;
  object.number("parts", result.parts.size());
  for (const PartOutcome outcome :
       {PartOutcome::published, PartOutcome::unchanged, PartOutcome::staged, PartOutcome::fetched,
        PartOutcome::pending, PartOutcome::skipped, PartOutcome::conflict, PartOutcome::failed}) {
    object.number(fmt::format("parts_{}", to_string(outcome)), outcomes[outcome]);
  }
  object.number("entries_written", written).number("entries_adopted", adopted);
  object.number("conflicts", result.conflicts.size()).number("findings", result.findings.size());
  object.number("notes", result.notes.size()).number("problems", result.problems.size());
  return object.str();
}

std::string findings_by_kind(const Result& result) {
  std::map<FindingKind, std::uint64_t> kinds;
  for (const Finding& finding : result.findings) ++kinds[finding.kind];
  JsonObject object;
  for (const auto& [kind, count] : kinds) object.number(to_string(kind), count);
  return object.str();
}

std::string bytes_of(const Result& result) {
  std::uint64_t local = 0;
  for (const PartResult& part : result.parts) local += part.bytes_from_local;
  std::uint64_t hashed = 0;
  for (const auto& [name, counts] : result.trees) hashed += counts.bytes_hashed;
  JsonObject object;
  object.number("from_network", result.bytes_from_network).number("from_local", local);
  object.number("written", result.bytes_written).number("hashed", hashed);
  return object.str();
}

std::string digests_of(const Result& result, DigestScope scope) {
  JsonObject object;
  for (const TreeDigest& digest : result.digests)
    if (digest.scope == scope) object.text(digest.name, digest.label());
  return object.str();
}

std::string trees_of(const Result& result) {
  JsonObject object;
  for (const auto& [name, counts] : result.trees) object.raw(name, object_of(counts).str());
  return object.str();
}

struct NamedJson {
  std::string_view key;
  std::string json;
};

// What the summary line and the document have in common, in their order.
std::vector<NamedJson> summary_members(const Result& result, const ReportMeta& meta, int exit_code) {
  const auto quoted = [](std::string_view text) { return model::json_quote(text); };
  const double seconds = std::isfinite(result.seconds) ? result.seconds : 0;  // JSON has no other numbers
  std::vector<NamedJson> members{
      {"schema", quoted(k_report_schema)},
      {"command", quoted(result.command)},
      {"verdict", quoted(result.verdict)},
      {"exit_code", std::to_string(exit_code)},
      {"retryable", is_retryable(exit_code) ? "true" : "false"},
      {"node", quoted(meta.node)},
      {"tool_version", quoted(meta.tool_version)},
      {"started", quoted(meta.started_utc)},
      {"finished", quoted(meta.finished_utc)},
      {"seconds", fmt::format("{:.3f}", seconds)},
      {"release_id", quoted(result.release_id)},
      {"source", quoted(result.source)},
      {"commit", quoted(result.commit)},
      {"manifest_sha256", quoted(result.manifest_sha256)},
      {"lock_digest", quoted(result.lock_digest)},
      {"subset", result.subset ? "true" : "false"},
      {"stopped_by", std::to_string(result.stopped_by)},
      {"counts", counts_of(result)},
      {"findings_by_kind", findings_by_kind(result)},
      {"bytes", bytes_of(result)},
  };
  if (!result.next.empty()) members.push_back({"next", quoted(result.next)});
  if (const auto places = places_of(result); !places.empty())
    members.push_back({"from", places_json(places)});
  if (!result.dropped_places.empty()) {
    std::string names;
    for (const auto& name : result.dropped_places) names += (names.empty() ? "" : ", ") + quoted(name);
    members.push_back({"dropped_places", "[" + names + "]"});
  }
  if (result.bundle_digest) members.push_back({"bundle_digest", quoted(result.bundle_digest->label())});
  members.push_back({"digests", "{\"roots\": " + digests_of(result, DigestScope::root) +
                                    ", \"trees\": " + digests_of(result, DigestScope::tree) + "}"});
  members.push_back({"trees", trees_of(result)});
  return members;
}

template <class Item>
NamedJson list_of(std::string_view key, const std::vector<Item>& items) {
  std::string json = "[";
  for (std::size_t i = 0; i < items.size(); ++i) {
    json += i == 0 ? "\n    " : ",\n    ";
    json += object_of(items[i]).str();
  }
  json += items.empty() ? "]" : "\n  ]";
  return {key, std::move(json)};
}

}  // namespace

std::string to_json(const Result& result, const ReportMeta& meta, int exit_code) {
  auto members = summary_members(result, meta, exit_code);
  members.push_back(list_of("parts", result.parts));
  members.push_back(list_of("conflicts", result.conflicts));
  members.push_back(list_of("findings", result.findings));
  members.push_back(list_of("notes", result.notes));
  members.push_back(list_of("problems", result.problems));
  std::string out = "{";
  for (std::size_t i = 0; i < members.size(); ++i) {
    out += fmt::format("{}\n  \"{}\": {}", i == 0 ? "" : ",", members[i].key, members[i].json);
  }
  return out + "\n}\n";
}

std::string summary_line(const Result& result, const ReportMeta& meta, int exit_code) {
  JsonObject object;
  object.text("event", "summary");
  for (const NamedJson& member : summary_members(result, meta, exit_code))
    object.raw(member.key, member.json);
  return object.str();
}

std::string finding_line(const Finding& finding) {
  return line_of("finding", finding);
}
std::string conflict_line(const Conflict& conflict) {
  return line_of("conflict", conflict);
}
std::string part_line(const PartResult& part) {
  return line_of("part", part);
}
std::string problem_line(const Problem& problem) {
  return line_of("problem", problem);
}

}  // namespace decant::report
