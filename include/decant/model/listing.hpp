// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "decant/hash/digest.hpp"

namespace decant::model {

// One file of a repo at a commit, as the hub (or a directory) tells it.
struct ListedFile {
  std::string path;  // as told; may break RelPath rules, so it is checked where it is used
  std::uint64_t size = 0;
  std::optional<hash::Digest> digest;  // sha256 for LFS and Xet files, git blob id for the others
  std::string xet_hash;                // 64 hex or empty; says nothing about content by itself
};
using Listing = std::vector<ListedFile>;

}  // namespace decant::model
