// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "decant/net/transport.hpp"
#include "session.hpp"

namespace decant::cli {

// What users of the Hugging Face client have set already, read as it reads it. decant's own flags and
// DECANT_* variables win over all of it. docs/environment.md lists every variable.

// 1, ON, YES or TRUE, in any case; anything else, or nothing, is no.
bool is_on(const std::optional<std::string>& value);

// The variable that forbids connections: DECANT_OFFLINE, else HF_HUB_OFFLINE, else TRANSFORMERS_OFFLINE; the
// first one that is set decides. nullopt: connections may be opened.
std::optional<std::string> forbids_network(const Session& session);

// Sets the stall timeout from `stall_flag` (the value of --stall-timeout; empty: HF_HUB_DOWNLOAD_TIMEOUT),
// the connect timeout from HF_HUB_ETAG_TIMEOUT, and the file of certificates. What is not set stays. Throws
// Error{usage} for a value that is no time.
void set_network_limits(const Session& session, const std::string& stall_flag,
                        net::TransportOptions& options);

// A path as the official client expands it: "~/" and $NAME or ${NAME}; a name that is not set stays as it is.
std::string expand_path(const std::string& path, const Session& session);

}  // namespace decant::cli
