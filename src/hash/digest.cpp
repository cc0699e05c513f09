// SPDX-License-Identifier: Apache-2.0
#include "decant/hash/digest.hpp"

#include <algorithm>

namespace decant::hash {
namespace {

// -1 for anything but a lower-case hex digit.
int nibble(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string_view to_string(Algorithm algorithm) noexcept {
  return algorithm == Algorithm::sha256 ? "sha256" : "git-sha1";
}

std::optional<Algorithm> parse_algorithm(std::string_view text) {
  for (const Algorithm algorithm : {Algorithm::sha256, Algorithm::git_sha1}) {
    if (text == to_string(algorithm)) return algorithm;
  }
  return std::nullopt;
}

std::optional<Digest> Digest::parse(Algorithm algorithm, std::string_view hex) {
  Digest digest;
  digest.algorithm_ = algorithm;
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = nibble(hex[2 * i]);
    const int low = nibble(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes_[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  digest.valid_ = true;
  return digest;
}

Digest Digest::from_bytes(Algorithm algorithm, const std::uint8_t* bytes) {
  Digest digest;
  digest.algorithm_ = algorithm;
  std::copy_n(bytes, digest.size(), digest.bytes_.begin());
  digest.valid_ = true;
  return digest;
}

std::string Digest::hex() const {
  constexpr std::string_view k_digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * size());
  for (std::size_t i = 0; i < size(); ++i) {
    text += k_digits[bytes_[i] >> 4];
    text += k_digits[bytes_[i] & 0xF];
  }
  return text;
}

std::string Digest::short_hex() const {
  return hex().substr(0, 12);
}

}  // namespace decant::hash
