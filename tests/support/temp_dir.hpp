// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace decant::test {

// A directory of this test's own below $TMPDIR (or /tmp), removed at the end; kept and named on stderr when
// DECANT_TEST_KEEP is set.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view below) const;

 private:
  std::string path_;
};

void write_file(const std::string& path, std::string_view content);  // makes parents
std::string read_file(const std::string& path);
bool exists(const std::string& path);  // lstat

// Deterministic bytes that do not compress; same seed, same bytes.
std::string random_bytes(std::uint64_t seed, std::size_t size);

// Path (relative, bytes) -> one line that tells type, permission bits, size, link target or SHA-256 of
// content and whole-second mtime: the tree as a value, to compare two trees or "nothing was touched".
std::map<std::string, std::string> snapshot(const std::string& directory);

}  // namespace decant::test
