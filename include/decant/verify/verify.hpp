// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decant/base/stop.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/fs/rel_path.hpp"
#include "decant/hash/digest.hpp"
#include "decant/progress/reporter.hpp"
#include "decant/report/report.hpp"

// Expected content against what lies on disk now: findings and digests. Offline and read-only; every file is
// opened once, read in large pieces by several readers, and judged by what was read in this run.
namespace decant::verify {

enum class Level {
  quick,       // presence, type, size
  standard,    // also the SHA-256 of everything but media
  every_byte,  // of every file
};

enum class Origin : std::uint8_t { manifest, pinned_index, learned_index };
enum class ExpectedType : std::uint8_t { file, dir, symlink };

// One path that must be there. An implied parent directory is an entry of its own.
struct Expected {
  fs::RelPath path;  // relative to its tree
  ExpectedType type = ExpectedType::file;
  bool executable = false;
  bool check_mode = true;  // false where the release does not state the x bit
  bool media = false;      // standard level: by size only
  bool optional = false;   // external trees: may be absent
  Origin origin = Origin::manifest;
  std::uint32_t part = 0;   // index into Tree::parts
  bool states_size = true;  // false: only the digest is known, as for a base model's files
  std::uint64_t size = 0;
  hash::Digest digest;  // sha256 or git_sha1; invalid: unverifiable
  std::string target;   // symlink
};

struct Tree {
  std::string name;
  std::string path;                 // where it lies
  bool external = false;            // links to regular files are followed; stray weights are findings
  std::vector<Expected> entries;    // any order; duplicates of one path must agree
  std::vector<std::string> parts;   // names, for findings
  std::vector<fs::RelPath> closed;  // directories where an extra file is a finding
  // What the selection leaves out: no extras. Of a part that is left out and lists nothing, where it lies:
  // an extra file there may be its own, so it is never a finding.
  std::vector<fs::RelPath> left_out;
  std::vector<fs::RelPath> unlisted;
  std::uint64_t skipped = 0;  // entries left out by selection; for the counts
  bool is_root = true;        // false: a declared tree inside a root, only digested and reported by name
};

struct VerifyOptions {
  Level level = Level::standard;
  int readers = 0;  // 0: as many as suit the machine
};

// Adds findings, notes, counts and digests to `result`. A tree with is_root == false that lies inside a given
// root is not read twice: its digest comes from what the root's readers saw, and its entries are counted
// under the root only, so that sums over result.trees are right. Entries should come from with_parents();
// others are copied into that form. Never throws for anything found on disk; Interrupted passes.
void prove(const std::vector<Tree>& trees, const VerifyOptions& options, progress::Reporter& reporter,
           const Stop& stop, report::Result& result);

// The verdict line: "verified, every byte hashed", "verified; 48,211 media files by size only", "NOT
// verified: …", "nothing was verified: …".
std::string verdict(const report::Result& result);

// Fills in missing parents as directory entries and sorts by path bytes; the form prove() and tree_text()
// use. Throws Error{integrity} when two entries of one path disagree.
std::vector<Expected> with_parents(std::vector<Expected> entries);

// What was observed for one expected entry, for the digest text.
struct Observed {
  bool missing = false;
  ExpectedType type = ExpectedType::file;
  bool executable = false;
  std::uint64_t size = 0;
  std::string hex;  // SHA-256, "size-only", or "-" for directories
};
// One line of decant.tree/1: `TYPE SP X SP SIZE SP HEX SP PATH LF`, or `missing - - - PATH LF`.
std::string tree_line(const Observed& observed, const fs::RelPath& path);

// The bundle's digest: SHA-256 over `NAME SP HEX LF` of roots and external trees in name order.
report::TreeDigest bundle_digest(std::vector<report::TreeDigest> digests);

}  // namespace decant::verify
