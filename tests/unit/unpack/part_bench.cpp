// SPDX-License-Identifier: Apache-2.0
#include "part_bench.hpp"

#include <sys/stat.h>

#include "support/archive_builder.hpp"
#include "support/catch.hpp"

namespace decant::test {

PartBench::PartBench() {
  part.name = "p";
  part.root = "bundle";
  for (const auto& path : {root(), stage(), outside()}) REQUIRE(::mkdir(path.c_str(), 0755) == 0);
  write_file(outside() + "/victim", "untouched");
}

unpack::UnpackResult PartBench::run_zst(const std::string& zst) {
  StringSource source{zst};
  const auto stage_dir = fs::DirHandle::open(stage(), fs::Missing::is_error);
  const auto root_dir = fs::DirHandle::open(root(), fs::Missing::is_error);
  const unpack::Target target{.stage = &stage_dir, .existing = root_is_there ? &root_dir : nullptr};
  ByteBudget budget{budget_bytes};
  return unpack::unpack_archive(source, part, target, options, budget, counters, stop);
}

unpack::UnpackResult PartBench::run_tar(const std::string& tar) {
  return run_zst(zstd_frame(tar));
}

std::string PartBench::refusal_of(const std::string& tar) {
  clear_stage();
  try {
    run_tar(tar);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::integrity);
    return error.what();
  }
  return {};
}

void PartBench::clear_stage() {
  const auto dir = fs::DirHandle::open(stage(), fs::Missing::is_error);
  for (const auto& name : dir.list()) dir.remove_tree(*fs::RelPath::parse(name));
}

std::map<std::string, std::string> index_lines(const unpack::UnpackResult& result) {
  static constexpr const char* k_types[] = {"file", "dir", "link"};
  static constexpr const char* k_landed[] = {"skipped", "staged", "adopted"};
  std::map<std::string, std::string> lines;
  REQUIRE(result.states.size() == result.index.entries.size());
  for (std::size_t i = 0; i < result.states.size(); ++i) {
    const auto& entry = result.index.entries[i];
    std::string line = k_types[static_cast<int>(entry.type)];
    line += std::string{" "} + k_landed[static_cast<int>(result.states[i].landed)];
    if (entry.type == model::EntryType::file) {
      line +=
          ' ' + std::to_string(entry.size) + ' ' + entry.sha256.short_hex() + (entry.executable ? " x" : "");
    }
    if (!entry.target.empty()) line += " -> " + entry.target;
    if (!entry.same_as.is_root()) line += " = " + entry.same_as.str();
    REQUIRE(lines.emplace(entry.path.str(), line).second);
  }
  return lines;
}

}  // namespace decant::test
