// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "decant/base/error.hpp"
#include "decant/net/transport.hpp"
#include "decant/source/source.hpp"

namespace decant::hub {

inline constexpr std::string_view k_the_hub = "the hub";

// Whether what the hub says about a file in the headers of an answer agrees with the pinned commit and, when
// given, with the object. nullopt: it does, or says nothing.
std::optional<Problem> contradiction(const net::ResponseHead& head, std::string_view commit,
                                     std::string_view path, const source::Object* object);

// Whether a 200 or 206 brings the bytes of `range`, from its first one on. `owner` is who has the file, in
// messages.
struct BodyVerdict {
  source::ReadEnd end = source::ReadEnd::complete;  // complete: it does
  Problem problem;
  bool exact_length = false;  // the body announces to be as long as the range
};
BodyVerdict judge_body(const net::ResponseHead& head, const source::Object& object, ByteRange range,
                       std::string_view owner = k_the_hub);

// What a 416 to a range of the object means: the server's object is another one.
Problem out_of_range(const source::Object& object, ByteRange range, const net::ResponseHead& head,
                     std::string_view owner = k_the_hub);

// The digest that an answer's entity tags state; nullopt when they are of another kind.
std::optional<hash::Digest> stated_digest(const net::ResponseHead& head);

}  // namespace decant::hub
