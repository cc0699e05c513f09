// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "decant/base/stop.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/publish/publish.hpp"
#include "support/catch.hpp"
#include "support/sweep.hpp"
#include "support/temp_dir.hpp"

namespace decant::publish::test {

using decant::test::exists;
using decant::test::failed_at_call;
using decant::test::killed_at_call;
using decant::test::read_file;
using decant::test::snapshot;
using decant::test::sweep_in_memory;
using decant::test::TempDir;
using decant::test::write_file;

inline constexpr std::int64_t k_mtime = 1600000000;

inline fs::RelPath rel(std::string_view text) {
  return fs::RelPath::require(text, "test");
}

// A part as unpacking leaves it: a staged tree, its index and its marks.
class TestPart {
 public:
  TestPart(std::string name, const std::string& stage_path, const fs::DirHandle& root,
           std::string_view under = {});

  TestPart& file(std::string_view path, std::string_view content, bool executable = false);
  TestPart& hard_link(std::string_view path, std::string_view same_as);
  TestPart& dir(std::string_view path);
  TestPart& link(std::string_view path, std::string_view target);
  // A file that lies in the root already.
  TestPart& adopted(std::string_view path, std::string_view content);
  // In the index, but not wanted.
  TestPart& unwanted(std::string_view path);
  // Sets the directories' times and makes the marks.
  void finish();

  StagedPart staged();
  const model::PartIndex& index() const { return index_; }
  const fs::DirHandle& root() const { return root_; }
  state::Marks marks;

 private:
  model::IndexEntry& add(std::string_view path, model::EntryType type, state::Place place);
  std::string full(std::string_view path) const;

  std::string name_;
  std::string stage_path_;
  fs::DirHandle stage_;
  const fs::DirHandle& root_;
  fs::RelPath under_;
  model::PartIndex index_;
};

std::vector<Conflict> conflicts_of(std::vector<TestPart*> parts);
PublishCounts publish_all(std::vector<TestPart*> parts);

// "part root path | expected | found" of each.
std::vector<std::string> lines(const std::vector<Conflict>& conflicts);

void set_time(const std::string& path, std::int64_t mtime);

}  // namespace decant::publish::test
