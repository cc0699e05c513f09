// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "decant/base/bytes.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/hash/digest.hpp"

namespace decant::state {

// Compresses what is written to it: one zstd frame, level 3, with a checksum; the same pieces give the same
// bytes. Not whole before finish().
class CompressingSink final : public ByteSink {
 public:
  explicit CompressingSink(ByteSink& to);
  ~CompressingSink() override;
  void write(Bytes text) override;
  void finish();
  hash::Digest digest();  // SHA-256 of the text; after finish(), once

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The text of such a file, when its SHA-256 is `expected`; nullopt for anything else. Decoded twice: the
// first time only hashed, so that what is kept in memory is never more than what was promised.
std::optional<std::string> read_compressed_text(const fs::DirHandle& dir, const fs::RelPath& path,
                                                const hash::Digest& expected);

}  // namespace decant::state
