// SPDX-License-Identifier: Apache-2.0
#include <sstream>

#include "decant/net/transport.hpp"
#include "support/catch.hpp"

using decant::net::Secret;

TEST_CASE("a secret prints as three stars") {
  std::ostringstream out;
  out << Secret{"hf_canary"};
  CHECK(out.str() == "***");
}

TEST_CASE("a secret is copied and assigned whole") {
  const Secret a{"hf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
  Secret b{a};
  CHECK(b.reveal() == a.reveal());
  b = Secret{"short"};
  CHECK(b.reveal() == "short");
  b = a;
  CHECK(b.reveal() == a.reveal());
  const Secret& same = b;
  b = same;
  CHECK(b.reveal() == a.reveal());
  b = Secret{};
  CHECK(b.empty());
}

TEST_CASE("a secret's bytes are gone after its end") {
  alignas(Secret) std::byte room[sizeof(Secret)];
  auto* secret = new (room) Secret{"hf_short"};  // short enough to be held in place
  secret->~Secret();
  const std::string_view left{reinterpret_cast<const char*>(room), sizeof room};
  CHECK(left.find("hf_") == std::string_view::npos);
}
