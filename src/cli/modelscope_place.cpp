// SPDX-License-Identifier: Apache-2.0
#include "modelscope_place.hpp"

#include "token.hpp"

namespace decant::cli {

hub::ModelScopeOptions modelscope_place(const std::string& words, const std::string& repo,
                                        model::RepoType repo_type, Session& session) {
  auto options = hub::parse_modelscope(words, repo, repo_type);
  if (auto endpoint = session.env("MODELSCOPE_ENDPOINT")) options.endpoint = std::move(*endpoint);
  options.token = find_modelscope_token(session);
  options.on_wait = [&session](std::string_view what) { session.reporter().waiting(what); };
  options.on_note = [&session](std::string_view note) {
    session.reporter().message(progress::Level::warning, std::string{note});
  };
  return options;
}

}  // namespace decant::cli
