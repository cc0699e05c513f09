// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "decant/base/bytes.hpp"
#include "decant/hash/hasher.hpp"
#include "decant/model/manifest.hpp"
#include "decant/unpack/unpack.hpp"
#include "support/temp_dir.hpp"

namespace decant::test {

// One part on the workbench: a root, a staging directory beside it, and something outside that must stay as
// it is.
class PartBench {
 public:
  PartBench();

  unpack::UnpackResult run_zst(const std::string& zst);
  unpack::UnpackResult run_tar(const std::string& tar);  // as one zstd frame
  // The error's text; empty when nothing was refused. Empties the staging directory first.
  std::string refusal_of(const std::string& tar);

  std::string root() const { return dir_ / "root"; }
  std::string stage() const { return dir_ / "stage"; }
  std::string outside() const { return dir_ / "outside"; }
  std::string scratch(std::string_view name) const { return dir_ / name; }
  void clear_stage();

  model::PartSpec part;
  unpack::UnpackOptions options;
  bool root_is_there = true;
  std::uint64_t budget_bytes = 64ULL << 20;
  std::shared_ptr<progress::PartCounters> counters = std::make_shared<progress::PartCounters>();
  Stop stop;

 private:
  TempDir dir_;
};

// path -> what the index and the state say, in one line.
std::map<std::string, std::string> index_lines(const unpack::UnpackResult& result);

}  // namespace decant::test
