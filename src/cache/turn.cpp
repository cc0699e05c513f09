// SPDX-License-Identifier: Apache-2.0
#include "turn.hpp"

#include <cerrno>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/sys.hpp"

namespace decant::cache {
namespace {

constexpr std::string_view k_suffix = ".turn";
// On another host: a turn lasts as long as a few calls do, and a mistake costs a second download.
constexpr std::int64_t k_expiry_seconds = 60;
constexpr int k_rounds = 10;

fs::RelPath rel(const std::string& name) {
  return fs::RelPath::require(name, "turn");
}

fs::RelPath random_name(const fs::RelPath& turn) {
  return rel(turn.str() + "." + random_hex(8));
}

void remove_quietly(const fs::DirHandle& directory, const fs::RelPath& name) {
  fs::sys::unlinkat(directory.fd(), name.str().c_str(), 0);
}

}  // namespace

Turn::Turn(const fs::DirHandle& directory, const std::string& prefix)
    : directory_{directory}, name_{rel(prefix + std::string{k_suffix})} {
  const fs::RelPath ours = random_name(name_);
  const auto fd = directory_.create_file(ours, k_record_mode);
  if (!fd) throw_errno(EEXIST, "create", directory_.path_of(ours));
  try {
    fs::sys::write_all(fd->get(), as_bytes(fs::to_text(fs::this_process())), directory_.path_of(ours));
    const fs::EntryFacts facts = fs::facts_of(fd->get());
    stamp_ = fs::stamp_of(facts);
    for (int round = 0; round < k_rounds && !is_ours_; ++round) {
      if (!try_take(ours, facts.mtime_sec)) break;
    }
    if (is_ours_) remove_dead_turns(directory_, prefix, facts.mtime_sec);
  } catch (const Error&) {
    remove_quietly(directory_, ours);
    throw;
  }
  if (!is_ours_) remove_quietly(directory_, ours);
}

// False: somebody living has it.
bool Turn::try_take(const fs::RelPath& ours, std::int64_t now) {
  is_ours_ = directory_.rename_noreplace(ours, directory_, name_);
  if (is_ours_) return true;
  other_ = read_owner(directory_, name_, now, k_expiry_seconds);
  if (!directory_.stat(name_)) return true;
  if (other_.hold == Hold::held) return false;
  const fs::RelPath aside = random_name(name_);
  if (fs::sys::renameat(directory_.fd(), name_.str().c_str(), directory_.fd(), aside.str().c_str()) != 0) {
    return errno == ENOENT;
  }
  const auto moved = directory_.stat(aside);
  if (moved && fs::stamp_of(*moved) != other_.stamp &&
      directory_.rename_noreplace(aside, directory_, name_)) {
    return true;
  }
  remove_quietly(directory_, aside);
  return true;
}

Turn::~Turn() {
  if (!is_ours_) return;
  try {
    const auto facts = directory_.stat(name_);
    if (facts && fs::stamp_of(*facts) == stamp_) remove_quietly(directory_, name_);
  } catch (const Error&) {  // it will be found dead
  }
}

bool is_turn_name(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  return name == k_suffix || name.starts_with(std::string{k_suffix} + ".");
}

void remove_dead_turns(const fs::DirHandle& directory, const std::string& prefix, std::int64_t now) {
  try {
    for (const std::string& name : directory.list()) {
      if (!is_turn_name(name, prefix) || name == prefix + std::string{k_suffix}) continue;
      const auto owner = read_owner(directory, rel(name), now, k_expiry_seconds);
      if (owner.hold != Hold::held) remove_quietly(directory, rel(name));
    }
  } catch (const Error&) {
  }
}

}  // namespace decant::cache
