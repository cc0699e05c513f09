// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "decant/base/fd.hpp"
#include "decant/fs/dir_handle.hpp"

// Who works on a bundle, told by files alone.
//
// `owner` holds the claimant's record and appears by a rename that replaces nothing. A claim whose owner is
// dead is taken over by creating `owner.after-KEY`, KEY being a digest of the dead record: of all who saw
// that owner die, exactly one succeeds. The winner looks again that `owner` is still the dead one, then
// renames a copy of its record over `owner` and removes the other name. Should it die in between, its own
// record is the one to succeed: claims form a chain, and whoever stands last in it and lives, owns. Moving
// the dead record aside first would not do: a slow taker could move the fresh record of a fast one.
//
// Not promised: an owner on another host that stands still for ten minutes and then goes on is not stopped;
// it can ask lost().
namespace decant::state {

class Claim {
 public:
  // nullptr when somebody alive holds it; `holder` then says who. Throws Error{disk}.
  static std::unique_ptr<Claim> take(const fs::DirHandle& state_dir, std::string* holder);
  // Who would make take() give nullptr now; reads only, by this host's clock. Throws Error{state}.
  static std::optional<std::string> look(const fs::DirHandle& state_dir);
  ~Claim();  // gives it up if it is still ours
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // Asks the file; false while it cannot be read.
  bool lost() const;

 private:
  Claim(fs::DirHandle dir, std::string text);
  void beat();

  fs::DirHandle dir_;
  std::string text_;
  pid_t pid_;
  Fd file_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool end_ = false;
  std::thread heart_;
};

// Removes what killed writers left in a directory of state files. Only for the owner of the bundle.
void remove_temporary_files(const fs::DirHandle& dir);

}  // namespace decant::state
