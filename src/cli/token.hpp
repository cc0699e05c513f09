// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decant/hub/hub.hpp"
#include "session.hpp"

namespace decant::cli {

// HF_TOKEN, else HUGGING_FACE_HUB_TOKEN, else the file HF_TOKEN_PATH, else HF_HOME/token (default
// ~/.cache/huggingface): the order of huggingface/huggingface_hub src/huggingface_hub/utils/_auth.py. None of
// them with HF_HUB_DISABLE_IMPLICIT_TOKEN, which is said. Surrounding white space is cut; empty means none.
// Warns when the file is readable by others. Throws Error{usage} for control characters.
hub::Token find_token(Session& session);

// MODELSCOPE_API_TOKEN. What ModelScope's own tools store is a pickle of Python, and is not read.
hub::Token find_modelscope_token(const Session& session);

}  // namespace decant::cli
