// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "decant/base/error.hpp"
#include "decant/hash/hasher.hpp"
#include "decant/state/bundle.hpp"
#include "support/catch.hpp"
#include "support/sweep.hpp"
#include "support/temp_dir.hpp"

namespace decant::state::test {

using decant::test::exists;
using decant::test::failed_at_call;
using decant::test::killed_at_call;
using decant::test::read_file;
using decant::test::snapshot;
using decant::test::sweep_in_memory;
using decant::test::TempDir;
using decant::test::write_file;

inline fs::RelPath rel(std::string_view text) {
  return fs::RelPath::require(text, "test");
}

inline hash::Digest lock_of(char digit) {
  return hash::Digest::parse(hash::Algorithm::sha256, std::string(64, digit)).value();
}

inline Bundle open_bundle(const TempDir& dir) {
  return Bundle::open(dir.path(), fs::Missing::is_error);
}

inline PartRecord sample_record(std::int64_t finished = 1700000000) {
  return {
      .part = "images_000",
      .stage = Stage::staged,
      .index_sha256 = lock_of('e'),
      .published_before = true,
      .staging = ".decant/staging-eeeeeeeeeeee-0011",
      .finished = finished,
      .marks = {
          {Place::ours, {1, 2, 3, -4, 5}}, {Place::none, {}}, {Place::adopted, {~0ULL, 7, 8, 9, 999999999}}}};
}

inline model::RestoreLock sample_lock() {
  model::RestoreLock lock;
  lock.source = {.kind = model::SourceKind::hub,
                 .endpoint = "https://huggingface.co",
                 .repo_type = model::RepoType::dataset,
                 .repo = "ORG/REPO",
                 .requested_revision = "main",
                 .commit = std::string(40, 'c')};
  lock.manifest_sha256 = lock_of('e');
  lock.manifest_size = 77;
  lock.release_id = "r1";
  lock.parts = {
      {.name = "data", .path = rel("data.tar.zst"), .size = 123, .digest = lock_of('a'), .xet_hash = ""}};
  lock.tool_version = "0.1.0";
  return lock;
}

inline model::PartIndex sample_index(std::size_t files) {
  model::PartIndex index;
  index.part_digest = lock_of('a');
  index.part_size = 1000;
  for (std::size_t i = 0; i < files; ++i) {
    model::IndexEntry entry;
    entry.path = rel("d/" + std::to_string(i));
    entry.size = i;
    entry.sha256 = hash::sha256(std::to_string(i));
    entry.mtime = 1700000000;
    index.entries.push_back(entry);
  }
  return index;
}

// Names in `.decant` and below that a finished write may not leave.
inline std::vector<std::string> leftovers(const TempDir& dir) {
  std::vector<std::string> found;
  for (const auto& [path, what] : snapshot(dir.path())) {
    if (path.find(".tmp-") != std::string::npos || path.find(".new") != std::string::npos ||
        path.find("owner") != std::string::npos) {
      found.push_back(path);
    }
  }
  return found;
}

}  // namespace decant::state::test
