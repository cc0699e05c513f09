// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "decant/archive/archive.hpp"
#include "decant/base/error.hpp"

namespace decant::test {

// Keeps what an archive holds, as values.
struct RecordedEntry {
  archive::ArchiveEntry entry;
  std::string content;
  bool ended = false;
};

class Recorder : public archive::EntrySink {
 public:
  void entry(const archive::ArchiveEntry& entry) override { entries.push_back({entry, {}, false}); }
  void data(BlockSpan span) override;
  void entry_end() override;
  std::vector<RecordedEntry> entries;
};

// One line an entry, to compare two readings.
std::string describe(const RecordedEntry& recorded);

struct Reading {
  std::vector<RecordedEntry> entries;
  archive::ArchiveSummary summary;
};

Reading read_tar_bytes(const std::string& tar, const archive::Rules& rules = {});
Reading read_zst_bytes(const std::string& zst, const archive::Rules& rules = {});

// The error's text of a refused archive; empty when it was accepted. Fails the test for any other error.
std::string refusal_of_tar(const std::string& tar, const archive::Rules& rules = {});
Problem problem_of_zst(const std::string& zst, const archive::Rules& rules = {});

}  // namespace decant::test
