// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <optional>
#include <string_view>

#include "beneath.hpp"
#include "decant/base/error.hpp"
#include "decant/fs/dir_handle.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace decant::fs::test {

using decant::test::exists;
using decant::test::read_file;
using decant::test::snapshot;
using decant::test::TempDir;
using decant::test::write_file;

inline RelPath rel(std::string_view text) {
  return RelPath::require(text, "test");
}

inline DirHandle open_root(const TempDir& dir) {
  return DirHandle::open(dir.path(), Missing::is_error);
}

// The Error that `work` throws; fails the test when it throws none.
template <class Work>
Error error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  throw Error{ErrorKind::bug, "not reached"};
}

// Root passes every permission check, so such a test would prove nothing.
inline bool skipped_as_root() {
  if (::geteuid() != 0) return false;
  WARN("skipped: permissions do not hold for root");
  return true;
}

// Both ways of opening beneath: 0 asks the kernel (openat2), 1 walks. Call it first in a test case.
class EitherWay {
 public:
  EitherWay() {
    if (GENERATE(0, 1) == 1) {
      UNSCOPED_INFO("walking");
      walking_.emplace();
    }
  }

 private:
  std::optional<ScopedNoOpenat2> walking_;
};

}  // namespace decant::fs::test
