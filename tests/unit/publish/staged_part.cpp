// SPDX-License-Identifier: Apache-2.0
#include "staged_part.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "decant/hash/hasher.hpp"

namespace decant::publish::test {

void set_time(const std::string& path, std::int64_t mtime) {
  const timespec times[2] = {{0, UTIME_OMIT}, {mtime, 0}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
}

TestPart::TestPart(std::string name, const std::string& stage_path, const fs::DirHandle& root,
                   std::string_view under)
    : name_{std::move(name)},
      stage_path_{stage_path},
      stage_{fs::DirHandle::open(stage_path, fs::Missing::create)},
      root_{root},
      under_{rel(under)} {}

std::string TestPart::full(std::string_view path) const {
  return fmt::format("{}/{}", stage_path_, (under_ / rel(path)).str());
}

model::IndexEntry& TestPart::add(std::string_view path, model::EntryType type, state::Place place) {
  model::IndexEntry entry;
  entry.path = rel(path);
  entry.type = type;
  entry.mtime = type == model::EntryType::symlink ? 0 : k_mtime + static_cast<std::int64_t>(marks.size());
  index_.entries.push_back(entry);
  marks.push_back({place, {}});
  if (place == state::Place::ours) {
    std::filesystem::create_directories(std::filesystem::path{full(path)}.parent_path());
  }
  return index_.entries.back();
}

TestPart& TestPart::file(std::string_view path, std::string_view content, bool executable) {
  model::IndexEntry& entry = add(path, model::EntryType::file, state::Place::ours);
  entry.size = content.size();
  entry.sha256 = hash::sha256(content);
  entry.executable = executable;
  write_file(full(path), content);
  REQUIRE(::chmod(full(path).c_str(), executable ? 0755 : 0644) == 0);
  set_time(full(path), entry.mtime);
  return *this;
}

TestPart& TestPart::hard_link(std::string_view path, std::string_view same_as) {
  for (const model::IndexEntry& earlier : std::vector{index_.entries}) {
    if (earlier.path.str() != same_as) continue;
    model::IndexEntry& entry = add(path, model::EntryType::file, state::Place::ours);
    const fs::RelPath own = entry.path;
    entry = earlier;
    entry.path = own;
    entry.same_as = earlier.path;
    REQUIRE(::link(full(same_as).c_str(), full(path).c_str()) == 0);
  }
  return *this;
}

TestPart& TestPart::dir(std::string_view path) {
  add(path, model::EntryType::dir, state::Place::ours);
  std::filesystem::create_directories(full(path));
  return *this;
}

TestPart& TestPart::link(std::string_view path, std::string_view target) {
  add(path, model::EntryType::symlink, state::Place::ours).target = target;
  REQUIRE(::symlink(std::string{target}.c_str(), full(path).c_str()) == 0);
  return *this;
}

TestPart& TestPart::adopted(std::string_view path, std::string_view content) {
  model::IndexEntry& entry = add(path, model::EntryType::file, state::Place::adopted);
  entry.size = content.size();
  entry.sha256 = hash::sha256(content);
  marks.back().stamp = fs::stamp_of(root_.stat(under_ / rel(path)).value());
  return *this;
}

TestPart& TestPart::unwanted(std::string_view path) {
  model::IndexEntry& entry = add(path, model::EntryType::file, state::Place::none);
  entry.size = 5;
  entry.sha256 = hash::sha256("other");
  return *this;
}

void TestPart::finish() {
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const model::IndexEntry& entry = index_.entries[i];
    if (entry.type == model::EntryType::dir) set_time(full(entry.path.str()), entry.mtime);
  }
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i].place != state::Place::ours) continue;
    marks[i].stamp = fs::stamp_of(stage_.stat(under_ / index_.entries[i].path).value());
  }
}

StagedPart TestPart::staged() {
  return {name_, "bundle", &root_, &stage_, under_, &index_, &marks};
}

namespace {

std::vector<StagedPart> all_staged(const std::vector<TestPart*>& parts) {
  std::vector<StagedPart> staged;
  for (TestPart* part : parts) staged.push_back(part->staged());
  return staged;
}

}  // namespace

std::vector<Conflict> conflicts_of(std::vector<TestPart*> parts) {
  return find_conflicts(all_staged(parts), Stop{});
}

PublishCounts publish_all(std::vector<TestPart*> parts) {
  auto staged = all_staged(parts);
  return publish(staged, progress::silent_reporter(), Stop{});
}

std::vector<std::string> lines(const std::vector<Conflict>& conflicts) {
  std::vector<std::string> text;
  for (const Conflict& each : conflicts) {
    text.push_back(
        fmt::format("{} {} {} | {} | {}", each.part, each.root, each.path.str(), each.expected, each.found));
  }
  return text;
}

}  // namespace decant::publish::test
