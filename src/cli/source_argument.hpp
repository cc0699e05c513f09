// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "decant/model/lock.hpp"

namespace decant::cli {

// SOURCE as the user wrote it.
struct SourceArgument {
  model::SourceKind kind = model::SourceKind::hub;
  std::string repo;                          // hub: ORG/NAME
  std::string directory;                     // directory: the path
  std::string mirror;                        // mirror: the address
  std::optional<model::RepoType> repo_type;  // hf:// says it: a model where no type is written
  std::optional<std::string> revision;       // @REV
  std::optional<std::string> path;           // /PATH
};

// ORG/NAME, hf://[datasets/|models/]ORG/NAME[@REV][/PATH], dir:PATH, a path beginning with '/', './' or
// '../', or the http(s) address of a mirror, which is not looked at any closer. Throws Error{usage} that
// shows the forms.
SourceArgument parse_source(const std::string& text);

// The same SOURCE without its @REV.
std::string without_revision(const std::string& text);

}  // namespace decant::cli
