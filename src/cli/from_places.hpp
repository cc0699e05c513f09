// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decant/net/transport.hpp"
#include "decant/source/source.hpp"
#include "session.hpp"

namespace decant::cli {

// True for "dir:PATH", "/…", "./…", "../…", "." and "..", as SOURCE and --from take them; the path then.
std::optional<std::string> directory_in(const std::string& text);

// The repo that is restored, as far as SOURCE names one: what `modelscope` alone stands for.
struct AskedRepo {
  std::string repo;  // ORG/NAME; empty: none is named
  model::RepoType type = model::RepoType::dataset;
};

// The places that --from names, in order, each once. A Hugging Face cache that is not there is said, and left
// out. Makes no request. Throws Error{usage} for a word that names no place. The transport outlives them.
std::vector<std::unique_ptr<source::Source>> open_places(const std::vector<std::string>& words,
                                                         const AskedRepo& asked, Session& session,
                                                         net::Transport& transport);

// Where Hugging Face's tools keep their cache: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub,
// XDG_CACHE_HOME/huggingface/hub, ~/.cache/huggingface/hub (huggingface/huggingface_hub constants.py). Empty
// when no variable tells.
std::string hf_cache_directory(const Session& session);

}  // namespace decant::cli
