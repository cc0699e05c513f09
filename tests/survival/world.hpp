// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "release.hpp"
#include "support/temp_dir.hpp"

namespace decant::test {

// What a user sees below `root`: without decant's own names, and without what is not content: times of
// directories and links, and of files that no release gave one.
Wanted visible(const std::string& root);
// Names that decant uses for itself below `root`, with those that differ by chance or turn made equal.
std::set<std::string> own_names(const std::string& root);

// The machine of one test: a bundle, a runtime root, and what lies beside them. Some of the release's
// directories are there with files of the user's own, and one identical file.
class World {
 public:
  explicit World(bool with_user_files = false);

  std::string bundle() const { return dir_ / "bundle"; }
  std::string runtime() const { return dir_ / "runtime"; }
  std::string cache() const { return dir_ / "cache"; }
  std::string path(std::string_view below) const { return dir_ / below; }
  const std::string& root() const { return dir_.path(); }

  // restore ORG/NAME … for this world: "org/small" with a release, "org/loose" without.
  std::vector<std::string> restore(const std::string& endpoint,
                                   const std::vector<std::string>& more = {}) const;
  std::vector<std::string> restore_small(
      const std::string& endpoint, const std::vector<std::string>& more = {}) const;  // with --runtime-root
  std::vector<std::string> restore_loose(const std::string& endpoint) const;
  std::vector<std::string> verify(bool with_runtime = true) const;

  // Everything that is visible in the bundle and the runtime root, prefixed by "bundle/" and "runtime/".
  Wanted tree() const;
  // What the tree must be in the end: the release and the user's own files.
  Wanted wanted(const Wanted& bundle, const Wanted& runtime) const;
  // Empty, or the first visible name that holds something else than `wanted` says.
  std::string half_file(const Wanted& wanted) const;
  // Empty, or what lies in the world that belongs to nobody.
  std::string stray() const;
  std::set<std::string> state() const;  // own names of both roots

 private:
  TempDir dir_;
  Wanted mine_;  // as tree() has it
};

// Temporary directories go to memory: these tests sync thousands of times.
void work_in_memory();

}  // namespace decant::test
