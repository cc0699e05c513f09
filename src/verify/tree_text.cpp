// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "decant/hash/hasher.hpp"
#include "decant/verify/verify.hpp"

namespace decant::verify {
namespace {

void append_escaped(std::string_view path, std::string& line) {
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x21 || byte > 0x7e || byte == '\\') {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
}

char letter(ExpectedType type) {
  if (type == ExpectedType::dir) return 'd';
  return type == ExpectedType::symlink ? 'l' : 'f';
}

}  // namespace

std::string tree_line(const Observed& observed, const fs::RelPath& path) {
  std::string line;
  if (observed.missing) {
    line = "missing - - - ";
  } else {
    const bool is_file = observed.type == ExpectedType::file;
    line = fmt::format("{} {} {} {} ", letter(observed.type), is_file && observed.executable ? 1 : 0,
                       is_file ? observed.size : 0, observed.type == ExpectedType::dir ? "-" : observed.hex);
  }
  append_escaped(path.str(), line);
  line += '\n';
  return line;
}

report::TreeDigest bundle_digest(std::vector<report::TreeDigest> digests) {
  std::sort(digests.begin(), digests.end(),
            [](const report::TreeDigest& a, const report::TreeDigest& b) { return a.name < b.name; });
  report::TreeDigest bundle{.name = "bundle", .full = true, .hex = {}};
  std::string text;
  for (const report::TreeDigest& digest : digests) {
    text += digest.name + ' ' + digest.hex + '\n';
    bundle.full = bundle.full && digest.full;
  }
  bundle.hex = hash::sha256(text).hex();
  return bundle;
}

}  // namespace decant::verify
