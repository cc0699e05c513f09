// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "decant/net/transport.hpp"
#include "decant/source/mirror.hpp"

namespace decant::source {

inline constexpr int k_most_hops = 5;

bool is_redirect(int status);

// Where a redirect leads; no URL: it is not followed, and `refusal` says why.
struct NextHop {
  std::optional<net::Url> url;
  std::string refusal;
};
NextHop next_hop(const net::Url& from, std::string_view location, const MirrorBase& base, int hops);

// Whether a 200 or 206 brings the bytes of `range`, from its first one on (RFC 9110 section 14).
struct BodyVerdict {
  ReadEnd end = ReadEnd::complete;  // complete: it does
  Problem problem;
  bool exact_length = false;  // the body announces to be as long as the range
};
BodyVerdict judge_body(const net::ResponseHead& head, const Object& object, ByteRange range,
                       const std::string& mirror);

// Why an answer of a mirror is none. `what`: the file asked for.
Problem mirror_refusal(std::string_view what, const std::string& mirror, const net::Outcome& outcome);

}  // namespace decant::source
