// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "decant/hub/modelscope.hpp"
#include "session.hpp"

namespace decant::cli {

// The place that `words` name (`modelscope:ORG/NAME[@REV]`, or `modelscope` for the same ORG/NAME as `repo`),
// with endpoint and token from MODELSCOPE_ENDPOINT and MODELSCOPE_API_TOKEN, speaking through the session's
// reporter. Throws Error{usage}.
hub::ModelScopeOptions modelscope_place(const std::string& words, const std::string& repo,
                                        model::RepoType repo_type, Session& session);

}  // namespace decant::cli
