// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "decant/base/bytes.hpp"
#include "decant/hash/digest.hpp"

namespace decant {
class Stop;
}

namespace decant::hash {

// Incremental digest of one stream. Reusable: finish() leaves it ready for reset().
class Hasher {
 public:
  // git_sha1 needs the content's size beforehand: it is part of what is hashed.
  explicit Hasher(Algorithm algorithm = Algorithm::sha256, std::uint64_t size = 0);
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  void update(Bytes bytes);
  Digest finish();
  void reset(Algorithm algorithm = Algorithm::sha256, std::uint64_t size = 0);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

Digest sha256(Bytes bytes);
Digest sha256(std::string_view text);

// Hashes a whole open file from its start with pread in pieces of 1 MiB, asking `stop` before each; throws
// Error{disk} on read errors and Error{integrity} when the file ends before `size` bytes or goes on after
// them.
Digest hash_file(int fd, std::uint64_t size, Algorithm algorithm, std::string_view path, const Stop& stop);
Digest hash_file(int fd, std::uint64_t size, Algorithm algorithm, std::string_view path);

// CRC-32C (Castagnoli, RFC 3720 appendix B.4), incremental: start with 0.
std::uint32_t crc32c(std::uint32_t crc, Bytes bytes) noexcept;

}  // namespace decant::hash
