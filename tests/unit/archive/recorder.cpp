// SPDX-License-Identifier: Apache-2.0
#include "recorder.hpp"

#include "decant/base/bytes.hpp"
#include "support/archive_builder.hpp"
#include "support/catch.hpp"
#include "tar_reader.hpp"

namespace decant::test {

void Recorder::data(BlockSpan span) {
  REQUIRE_FALSE(entries.empty());
  REQUIRE_FALSE(entries.back().ended);
  entries.back().content += as_text(span.bytes);
}

void Recorder::entry_end() {
  REQUIRE_FALSE(entries.empty());
  REQUIRE_FALSE(entries.back().ended);
  REQUIRE(entries.back().content.size() == entries.back().entry.size);
  entries.back().ended = true;
}

std::string describe(const RecordedEntry& recorded) {
  const auto& entry = recorded.entry;
  return std::to_string(entry.number) + ' ' + entry.path.str() + ' ' +
         std::to_string(static_cast<int>(entry.kind)) + ' ' + std::to_string(entry.size) +
         (entry.owner_executable ? " x " : " - ") + std::to_string(entry.mtime) + " [" + entry.link_target +
         "] [" + entry.hardlink_target.str() + "] @" + std::to_string(entry.tar_offset) + ' ' +
         std::to_string(std::hash<std::string>{}(recorded.content)) + (recorded.ended ? "" : " open");
}

Reading read_tar_bytes(const std::string& tar, const archive::Rules& rules) {
  StringSource source{tar};
  Recorder recorder;
  const Stop stop;
  const auto summary = archive::read_tar(source, rules, recorder, stop);
  return {std::move(recorder.entries), summary};
}

Reading read_zst_bytes(const std::string& zst, const archive::Rules& rules) {
  StringSource source{zst};
  Recorder recorder;
  ByteBudget budget{64 * k_mib};
  const Stop stop;
  const auto summary = archive::read_archive(source, rules, recorder, budget, stop);
  return {std::move(recorder.entries), summary};
}

std::string refusal_of_tar(const std::string& tar, const archive::Rules& rules) {
  try {
    read_tar_bytes(tar, rules);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::integrity);
    return error.what();
  }
  return {};
}

Problem problem_of_zst(const std::string& zst, const archive::Rules& rules) {
  try {
    read_zst_bytes(zst, rules);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::integrity);
    return error.problem();
  }
  return {};
}

}  // namespace decant::test
