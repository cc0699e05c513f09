// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "decant/base/error.hpp"
#include "decant/fs/rel_path.hpp"
#include "decant/hash/digest.hpp"
#include "support/catch.hpp"

namespace decant::test {

// A digest of 64 times the same digit.
inline hash::Digest sha256_of(char digit) {
  return hash::Digest::parse(hash::Algorithm::sha256, std::string(64, digit)).value();
}
inline hash::Digest git_of(char digit) {
  return hash::Digest::parse(hash::Algorithm::git_sha1, std::string(40, digit)).value();
}
inline fs::RelPath path_of(std::string_view text) {
  return fs::RelPath::require(text, "test");
}

// The problem that `call` throws; fails the test when it throws none.
template <class Call>
Problem problem_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.problem();
  }
  FAIL("no Error was thrown");
  return {};
}

// `text` with the first `from` replaced, for "the same, but".
inline std::string with(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) FAIL("the text to replace is not there: " << from);
  return text.replace(at, from.size(), to);
}

}  // namespace decant::test
