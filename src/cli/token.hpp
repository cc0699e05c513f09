// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decant/hub/hub.hpp"
#include "session.hpp"

namespace decant::cli {

// HF_TOKEN, else the file HF_TOKEN_PATH, else HF_HOME/token (default ~/.cache/huggingface). Surrounding white
// space is cut; empty means none. Warns when the file is readable by others. Throws Error{usage} for control
// characters.
hub::Token find_token(Session& session);

}  // namespace decant::cli
