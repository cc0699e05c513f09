// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "decant/source/source.hpp"

namespace decant::source {

// A local directory that may hold objects, read in place and never written to. What of these it is, it is
// found by itself, and may be several at once:
//
//   ALGORITHM/ab/HEX                       a decant cache
//   REPO/blobs/HEX, hub/REPO/blobs/HEX     a Hugging Face cache, or its parent: blobs are named by the
//   SHA-256 of
//                                          LFS files and the git blob id of others, so any repo's blob serves
//   REPO/snapshots/COMMIT/PATH             the same by name, through a link that stays inside REPO
//   PATH                                   a copied repo tree, `hf download --local-dir`
//
// PATH may also name REPO itself, or one of its snapshots. Layout of the Hugging Face cache:
// huggingface/huggingface_hub docs/source/en/guides/manage-cache.md. A candidate is a regular file of the
// right size; what it is worth, only its digest tells. Throws Error{usage} when `path` is no directory or
// cannot be read.
std::unique_ptr<Source> open_store(const std::string& path, std::string name);

}  // namespace decant::source
