// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "leftovers.hpp"

namespace decant::cache {

// One at a time decides who brings an object: held for the moment between looking whether somebody does and
// saying that we do. A file PREFIX.turn with the owner's line that appears by a rename that replaces nothing.
// A dead one is moved aside, and moved back by who finds that it has moved somebody else's. Nothing rests on
// it but that bytes are not fetched twice: should it fail, they are.
class Turn {
 public:
  // Takes it unless somebody living has it. Throws Error{disk} when the directory cannot be written.
  Turn(const fs::DirHandle& directory, const std::string& prefix);
  ~Turn();  // gives it up
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  bool is_ours() const { return is_ours_; }
  const OwnerFile& other() const { return other_; }  // when it is not

 private:
  bool try_take(const fs::RelPath& ours, std::int64_t now);

  const fs::DirHandle& directory_;
  const fs::RelPath name_;
  bool is_ours_ = false;
  fs::Stamp stamp_;  // of ours
  OwnerFile other_;
};

// "….turn" or "….turn.RANDOM".
bool is_turn_name(std::string_view name, std::string_view prefix);
// Those that dead processes left. Failing is no matter.
void remove_dead_turns(const fs::DirHandle& directory, const std::string& prefix, std::int64_t now);

}  // namespace decant::cache
