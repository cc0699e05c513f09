// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decant/fs/owner.hpp"
#include "partial_impl.hpp"

// Looking at partials of others: who holds one, and what is in it. Reads only.
namespace decant::cache {

inline constexpr std::string_view k_partial_infix = ".partial.";
inline constexpr mode_t k_data_mode = 0600;    // of data that is not proven yet
inline constexpr mode_t k_record_mode = 0644;  // of owner and ranges: others may see who works

enum class Hold {
  held,             // by a live process, this one included, or not ours to judge
  free,             // by nobody: to be taken
  presumably_free,  // by a process of another host that has not been heard of: to be copied
};

// The owner file of a claim: a partial's `owner`, or a turn.
struct OwnerFile {
  std::optional<fs::Owner> owner;
  bool is_self = false;  // by this very process
  Hold hold = Hold::held;
  fs::Stamp stamp;  // its mtime is the heartbeat
};

// `name` in `dir`, judged by its own file system's clock `now`; one of another host is silent after `expiry`
// seconds. Without such a file the age of `dir` decides: somebody may be just about to write it.
OwnerFile read_owner(const fs::DirHandle& dir, const fs::RelPath& name, std::int64_t now,
                     std::int64_t expiry);

// "pid 4711 on node7 since 2026-11-30T15:00:00Z".
std::string describe(const OwnerFile& file);

struct Leftover {
  std::string name;
  fs::DirHandle dir;
  OwnerFile owner;
  std::uint64_t landed_bytes = 0;
  bool is_ours = true;              // of this user
  std::optional<fs::Stamp> record;  // of `ranges`; moves while chunks land

  Hold hold() const { return owner.hold; }
};

// nullopt when there is no such directory. Without `size` the data's own is taken.
std::optional<Leftover> look_at_partial(const fs::DirHandle& parent, const std::string& name,
                                        std::optional<std::uint64_t> size, const hash::Digest* digest,
                                        std::int64_t now);

// Everything below `parent` that is called PREFIX.partial.*, held or not. What cannot be read is passed over:
// in a shared cache it may be somebody else's. `digest` may be null: any that fits the size.
std::vector<Leftover> find_partials(const fs::DirHandle& parent, const std::string& prefix,
                                    std::uint64_t size, const hash::Digest* digest, std::int64_t now);

// Moves out of `partials` what may be claimed, most landed bytes first; what others hold stays.
std::vector<Leftover> take_claimable(std::vector<Leftover>& partials);
// Both in one.
std::vector<Leftover> find_leftovers(const fs::DirHandle& parent, const std::string& prefix,
                                     std::uint64_t size, const hash::Digest* digest, std::int64_t now);

// Removes the partial `name` of `digest` unless somebody holds it, or takes it first. Throws Error{disk}.
void discard_partial(const fs::DirHandle& parent, const hash::Digest& digest, const std::string& name);

// The content of a `bytes` directory, open for reading. A record that is gone, cut within its header or
// zeroed makes every chunk without a hole one that landed earlier and is not proven; a record of something
// else makes nothing of it (nullopt).
std::optional<Content> look_into(const fs::DirHandle& bytes_dir, std::uint64_t size,
                                 const hash::Digest* digest);

std::vector<std::byte> read_at(int fd, std::uint64_t offset, std::uint64_t size, std::string_view path);

// The file system's own idea of the time: of a file that this process just wrote there.
std::int64_t time_of(int fd);

}  // namespace decant::cache
