// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "decant/base/backoff.hpp"
#include "decant/base/clock.hpp"
#include "decant/base/stop.hpp"
#include "decant/net/transport.hpp"
#include "decant/source/source.hpp"

// A static mirror: any web server over a decant cache (`sha256/ab/HEX`, `git-sha1/ab/HEX`) or over a copy of
// a repo's tree (`PATH`). Each object is asked for under both names; which form answered is remembered, so
// that a mirror costs one request for each range. No token is ever sent. Redirects: at most 5, never https to
// http, http only to the host that the user typed. Nothing is retried in here but what MirrorOptions::retry
// says of small files: ranges are retried by their reader.
namespace decant::source {

// Where a mirror answers.
struct MirrorBase {
  net::Origin origin;
  std::string prefix;  // empty, or begins with '/' and does not end with one
  std::string str() const { return origin.str() + prefix; }
};

// Throws Error{usage} naming `what` ("--from", "SOURCE") when the text is no http(s) URL, or has a user, a
// query or a fragment: mirrors are public to those who reach them.
MirrorBase parse_mirror_base(std::string_view text, std::string_view what);

// The objects of a mirror. Transport and clock outlive it.
std::unique_ptr<Source> open_mirror(MirrorBase base, net::Transport& transport, Clock& clock);

struct MirrorOptions {
  MirrorBase base;
  BackoffPolicy retry;                            // of manifests
  std::function<void(std::string_view)> on_wait;  // what is being waited for; "" when over; may be empty
};

// A mirror as the repo itself. It has neither commits nor a listing: sizes and digests are those of the
// manifest, and list() throws Error{usage}.
std::unique_ptr<Repository> open_mirror_repository(MirrorOptions options, net::Transport& transport,
                                                   Clock& clock, const Stop& stop);

}  // namespace decant::source
