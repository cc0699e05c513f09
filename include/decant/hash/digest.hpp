// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace decant::hash {

enum class Algorithm : std::uint8_t { sha256, git_sha1 };

std::string_view to_string(Algorithm algorithm) noexcept;  // "sha256", "git-sha1"
std::optional<Algorithm> parse_algorithm(std::string_view text);

// A digest with its algorithm. `git_sha1` is the git blob id: SHA-1 over "blob SIZE\0" and the content
// (git hash-object); it is what the hub tells for files that are not in LFS.
class Digest {
 public:
  Digest() = default;  // sha256 of nothing known: all zero, valid() is false
  static std::optional<Digest> parse(Algorithm algorithm,
                                     std::string_view hex);  // lower-case hex, exact length
  static Digest from_bytes(Algorithm algorithm, const std::uint8_t* bytes);

  Algorithm algorithm() const noexcept { return algorithm_; }
  std::size_t size() const noexcept { return algorithm_ == Algorithm::sha256 ? 32 : 20; }
  const std::uint8_t* data() const noexcept { return bytes_.data(); }
  bool valid() const noexcept { return valid_; }
  std::string hex() const;
  std::string short_hex() const;  // first 12 characters, for tables

  auto operator<=>(const Digest&) const = default;

 private:
  Algorithm algorithm_ = Algorithm::sha256;
  bool valid_ = false;
  std::array<std::uint8_t, 32> bytes_{};
};

}  // namespace decant::hash
