// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "decant/base/backoff.hpp"
#include "decant/base/clock.hpp"
#include "decant/base/stop.hpp"
#include "decant/hub/hub.hpp"
#include "decant/net/transport.hpp"
#include "decant/source/source.hpp"

namespace decant::hub {

inline constexpr std::string_view k_modelscope_endpoint = "https://modelscope.cn";

struct ModelScopeOptions {
  std::string endpoint = std::string{k_modelscope_endpoint};  // trailing '/' allowed
  model::RepoType repo_type = model::RepoType::dataset;
  std::string repo;                 // ORG/NAME
  std::string revision = "master";  // branch or tag; a hint, since digests decide
  Token token;                      // sent as bearer and as the cookie m_session_id
  BackoffPolicy retry;              // of the listing; ranges of objects are retried by their reader
  std::function<void(std::string_view)> on_wait;  // what is being waited for; "" when over; may be empty
  std::function<void(std::string_view)> on_note;  // "modelscope:ORG/NAME has another FILE"; may be empty
};

// Whether these words name a place at ModelScope.
bool is_modelscope(std::string_view words);

// `modelscope:[datasets/|models/]ORG/NAME[@REV]`, or `modelscope` alone for the ORG/NAME of the repo itself.
// The type is `repo_type` where the words do not say it; endpoint and token are the caller's to fill in.
// Throws Error{usage} that shows the forms.
ModelScopeOptions parse_modelscope(std::string_view words, std::string_view repo, model::RepoType repo_type);

// A ModelScope repo as a place that has bytes. It is listed once, when the first object is asked for (models
// by repo/files, datasets by the pages of repo/tree). What it states, size and SHA-256, is compared with the
// object before any byte is fetched: equal under the same path, or under another one, is read from there by
// bounded ranges, with our own redirects, one signed URL a file, renewed after a refusal. Everything else is
// ReadEnd::absent: what it does not have, what differs (said once a file by on_note), and what is pinned by a
// git blob id, which it does not state. A listing that fails is ReadEnd::failed, from then on. Protocol:
// modelscope/modelscope_hub src/modelscope_hub/_legacy_api.py. Throws Error{usage} for a bad endpoint, repo
// name or token, and for a token over http to anything but loopback.
std::unique_ptr<source::Source> open_modelscope(ModelScopeOptions options, net::Transport& transport,
                                                Clock& clock, const Stop& stop);

}  // namespace decant::hub
