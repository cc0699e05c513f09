// SPDX-License-Identifier: Apache-2.0
#include "decant/hash/digest.hpp"

#include "support/catch.hpp"

namespace {

using decant::hash::Algorithm;
using decant::hash::Digest;

const std::string k_hex(64, 'a');

TEST_CASE("algorithms have one name each") {
  for (const Algorithm algorithm : {Algorithm::sha256, Algorithm::git_sha1}) {
    CHECK(decant::hash::parse_algorithm(decant::hash::to_string(algorithm)) == algorithm);
  }
  for (const char* bad : {"", "SHA256", "sha1", "sha256 "})
    CHECK_FALSE(decant::hash::parse_algorithm(bad).has_value());
}

TEST_CASE("a digest is lower-case hex of exactly its length") {
  const auto digest = Digest::parse(Algorithm::sha256, k_hex);
  REQUIRE(digest.has_value());
  CHECK(digest->valid());
  CHECK(digest->hex() == k_hex);
  CHECK(digest->short_hex() == "aaaaaaaaaaaa");
  CHECK(Digest::parse(Algorithm::git_sha1, std::string(40, '0')).has_value());
  CHECK_FALSE(Digest::parse(Algorithm::git_sha1, k_hex).has_value());
  CHECK_FALSE(Digest::parse(Algorithm::sha256, k_hex.substr(1)).has_value());
  CHECK_FALSE(Digest::parse(Algorithm::sha256, k_hex + "a").has_value());
  CHECK_FALSE(Digest::parse(Algorithm::sha256, std::string(64, 'A')).has_value());
  CHECK_FALSE(Digest::parse(Algorithm::sha256, std::string(63, 'a') + "g").has_value());
  CHECK_FALSE(Digest::parse(Algorithm::sha256, "").has_value());
}

TEST_CASE("a digest that is not known equals none that is, zeros included") {
  const Digest unknown;
  CHECK_FALSE(unknown.valid());
  CHECK(unknown == Digest{});
  CHECK_FALSE(unknown == *Digest::parse(Algorithm::sha256, std::string(64, '0')));
}

TEST_CASE("digests of two algorithms never compare equal") {
  const std::uint8_t zeros[32] = {};
  CHECK_FALSE(Digest::from_bytes(Algorithm::sha256, zeros) == Digest::from_bytes(Algorithm::git_sha1, zeros));
  CHECK(Digest::from_bytes(Algorithm::git_sha1, zeros).hex() == std::string(40, '0'));
}

}  // namespace
