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

namespace decant::hub {

inline constexpr std::string_view k_default_endpoint = "https://huggingface.co";

// A token and where it came from; the origin of the text is named in messages, the value never.
struct Token {
  net::Secret value;
  std::string came_from;  // "HF_TOKEN", "the file HF_TOKEN_PATH names (/…/token)", "HF_HOME/token
                          // (/…/token)", or empty
};

struct HubOptions {
  std::string endpoint = std::string{k_default_endpoint};  // HF_ENDPOINT or --endpoint; trailing '/' allowed
  model::RepoType repo_type = model::RepoType::dataset;
  std::string repo;  // ORG/NAME
  Token token;
  BackoffPolicy retry;  // of small requests; ranges of objects are retried by their reader
  std::function<void(std::string_view)> on_wait;  // what is being waited for; "" when over; may be empty
};

// The Hugging Face hub protocol over one repo: resolve, tree, paths-info, resolve URLs with our own redirects
// (at most 5, never https to http, http only on loopback from a loopback endpoint), the token to the
// endpoint's origin only, one signed URL a file, renewed before it expires and after a refusal. Protocol:
// docs/formats.md#hub and the hub's public API documentation (huggingface/hub-docs). Throws Error{usage} for
// a bad endpoint or repo name, and for a token over http to anything but loopback.
std::unique_ptr<source::Repository> open_hub(HubOptions options, net::Transport& transport, Clock& clock,
                                             const Stop& stop);

}  // namespace decant::hub
