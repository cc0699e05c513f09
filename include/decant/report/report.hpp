// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decant/base/error.hpp"

// What a command found out, as values: the text, JSON and (later) HTML renderers print nothing else.
namespace decant::report {

inline constexpr std::string_view k_report_schema = "decant.report/1";

// In the order of a finished report.
enum class FindingKind {
  tree_missing,  // a declared tree is neither found nor skipped
  missing,
  differs,     // content: expected, got
  truncated,   // shorter than expected
  longer,      // longer than expected
  wrong_type,  // a directory where a file is expected, …
  mode,        // owner's x bit
  link_target,
  unreadable,     // I/O error or permission: could not be checked
  unstable,       // changed while it was read
  extra,          // only inside directories listed under `closed`
  unverifiable,   // nothing says what it should be
  unknown_check,  // a check of a type this version does not know
};
std::string_view to_string(FindingKind kind) noexcept;  // "missing", "wrong-type", …

struct Finding {
  FindingKind kind = FindingKind::missing;
  std::string tree;  // root or tree name
  std::string path;  // raw bytes, relative to the tree; escaped by renderers
  std::string part;  // part that brings it; empty when none
  std::string expected;
  std::string found;
  std::string note;  // what it usually means; may be empty
};
// By kind, tree, path.
void sort_findings(std::vector<Finding>& findings);

// Something seen that is not wrong: extra files, generated files.
struct Note {
  std::string kind;  // "extra", "generated"
  std::string tree;
  std::string path;
};

// Of what a digest tells: a root and a tree may share a name.
enum class DigestScope { root, tree };

struct TreeDigest {
  std::string name;
  bool full = true;  // false: some line says size-only
  std::string hex;   // SHA-256
  DigestScope scope = DigestScope::root;
  std::string label() const { return (full ? "full:" : "partial:") + hex; }
};

// Counts of one tree or of all.
struct VerifyCounts {
  std::uint64_t expected = 0;  // entries
  std::uint64_t hashed = 0;    // files whose every byte was read now
  std::uint64_t size_only = 0;
  std::uint64_t bytes_hashed = 0;
  std::uint64_t from_manifest = 0;  // origin of the expectation
  std::uint64_t from_pinned_index = 0;
  std::uint64_t from_learned_index = 0;
  std::uint64_t extra = 0;
  std::uint64_t generated = 0;
  std::uint64_t skipped = 0;  // entries left out by selection or --skip
};

enum class PartOutcome { published, unchanged, staged, fetched, pending, skipped, conflict, failed };
std::string_view to_string(PartOutcome outcome) noexcept;

// What one place brought: "hub", "cache", "dir:/mnt/usb", the address of a mirror.
struct PlaceBytes {
  std::string place;
  std::uint64_t bytes = 0;
};
// Adds to the place's entry, or appends one.
void add_place(std::vector<PlaceBytes>& places, const std::string& place, std::uint64_t bytes);

struct PartResult {
  std::string name;
  PartOutcome outcome = PartOutcome::pending;
  std::uint64_t size = 0;
  std::uint64_t bytes_from_network = 0;
  std::uint64_t bytes_from_local = 0;
  std::uint64_t entries = 0;
  std::uint64_t written = 0;     // entries created by this run
  std::uint64_t adopted = 0;     // identical content that was already there
  std::string source;            // what it came from, all places; empty when nothing was fetched
  std::vector<PlaceBytes> from;  // the same with bytes
  std::optional<Problem> problem;
};

// A path that holds something else already.
struct Conflict {
  std::string part;
  std::string root;
  std::string path;  // raw bytes, relative to the root
  std::string expected;
  std::string found;
  std::string other_part;  // brings the other content; empty: it lies there
};

// The result of a whole command: what `--report` and the JSON summary say.
struct Result {
  std::string command;
  std::string verdict;  // one line, for people
  std::string next;     // what to do about it; may be empty
  std::string release_id;
  std::string source;  // repo or directory
  std::string commit;
  std::string manifest_sha256;
  std::string lock_digest;
  bool subset = false;
  std::vector<PartResult> parts;
  std::vector<Conflict> conflicts;
  std::vector<Finding> findings;
  std::vector<Note> notes;
  std::vector<TreeDigest> digests;
  std::optional<TreeDigest> bundle_digest;
  std::map<std::string, VerifyCounts> trees;
  std::vector<Problem> problems;  // of no single part
  int stopped_by = 0;             // signal
  std::uint64_t bytes_from_network = 0;
  std::uint64_t bytes_written = 0;
  double seconds = 0;
  // Places that were not asked any more in this run: they lied twice, or did not answer.
  std::vector<std::string> dropped_places;
};
// What each place brought, over all parts, in order of first use.
std::vector<PlaceBytes> places_of(const Result& result);

// The exit status, computed from every item: problems, conflicts, findings, parts that are not there, signal.
// Never 0 because nothing said otherwise: a part pending, staged only or failed gives its code. Command
// "fetch" asks for fetched parts only, command "plan" for parts that nothing keeps from being restored.
int exit_code(const Result& result);

// True when running the same line again, unchanged, can get further (network, busy, incomplete, signals,
// disk), be it after somebody made room or restored (docs/exit_codes.md).
bool is_retryable(int exit_code) noexcept;

struct ReportMeta {
  std::string node;
  std::string tool_version;
  std::string started_utc;
  std::string finished_utc;
};
// The document of --report, and (with `event`: "summary") the last JSON line. Field by field in
// docs/formats.md.
std::string to_json(const Result& result, const ReportMeta& meta, int exit_code);
std::string summary_line(const Result& result, const ReportMeta& meta, int exit_code);
// One JSON line without newline for a single item, with its `event`.
std::string finding_line(const Finding& finding);
std::string conflict_line(const Conflict& conflict);
std::string part_line(const PartResult& part);
std::string problem_line(const Problem& problem);

}  // namespace decant::report
