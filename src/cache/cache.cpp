// SPDX-License-Identifier: Apache-2.0
#include "decant/cache/cache.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "decant/base/clock.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/sys.hpp"
#include "turn.hpp"

namespace decant::cache {
namespace {

constexpr mode_t k_final_mode = 0444;
// As the umask has it: a group that shares a cache sets 002.
constexpr mode_t k_directory_mode = 0777;

fs::RelPath directory_of(const hash::Digest& digest) {
  return fs::RelPath::require(fmt::format("{}/{}", to_string(digest.algorithm()), digest.hex().substr(0, 2)),
                              "cache");
}

fs::RelPath name_of(const hash::Digest& digest) {
  return fs::RelPath::require(digest.hex(), "cache");
}

// nullopt when the cache or that directory in it is missing.
std::optional<fs::DirHandle> find_directory(const std::string& cache, const hash::Digest& digest) {
  const auto root = fs::DirHandle::open_if_there(cache);
  return root ? root->open_dir_if_there(directory_of(digest)) : std::nullopt;
}

fs::DirHandle make_directory(const std::string& cache, const hash::Digest& digest) {
  return fs::DirHandle::open(cache, fs::Missing::create).make_dirs(directory_of(digest), k_directory_mode);
}

void refuse_other_types(const fs::DirHandle& directory, const fs::RelPath& name,
                        const fs::EntryFacts& found) {
  if (found.type == fs::FileType::file) return;
  throw Error{Problem{.kind = ErrorKind::conflict,
                      .thing = fmt::format("the download cache cannot use the name {}",
                                           escape_for_display(directory.path_of(name))),
                      .expected = "a regular file or nothing",
                      .found = found.type == fs::FileType::symlink ? "a symbolic link"
                               : found.type == fs::FileType::dir   ? "a directory"
                                                                   : "a special file",
                      .hint = "remove it, then run the same command again"}};
}

bool is_complete(const fs::DirHandle& directory, const hash::Digest& digest, std::uint64_t size) {
  const auto facts = directory.stat(name_of(digest));
  return facts && facts->type == fs::FileType::file && facts->size == size;
}

void remove_leftovers_in(const fs::DirHandle& directory, const hash::Digest& digest, std::uint64_t size) {
  Partial::remove_empty_leftovers(directory, digest.hex(), size, digest);
  remove_dead_turns(directory, digest.hex(), system_clock().wall_seconds());
}

// Of several, the one that has most. One that has no bytes yet is about to be another's, or nobody's.
std::optional<Claim> find_claim(const fs::DirHandle& directory, const hash::Digest& digest,
                                std::uint64_t size) {
  std::optional<Claim> best;
  for (const Leftover& other :
       find_partials(directory, digest.hex(), size, &digest, system_clock().wall_seconds())) {
    if (other.hold() != Hold::held || !other.record) continue;
    if (best && best->landed_bytes >= other.landed_bytes) continue;
    best = Claim{.holder = describe(other.owner),
                 .landed_bytes = other.landed_bytes,
                 .beat = other.owner.stamp,
                 .record = *other.record};
  }
  return best;
}

}  // namespace

Cache::Cache(std::string path) : path_{std::move(path)} {}

ObjectFacts Cache::look(const hash::Digest& digest, std::uint64_t size) const {
  const auto directory = find_directory(path_, digest);
  if (!directory) return {};
  const auto final_facts = directory->stat(name_of(digest));
  if (final_facts && final_facts->type == fs::FileType::file && final_facts->size == size) {
    return {.complete = true, .sealed = (final_facts->mode & 0777) == k_final_mode, .landed_bytes = size};
  }
  return {.complete = false,
          .landed_bytes = Partial::landed_bytes_of_leftovers(*directory, digest.hex(), size)};
}

std::optional<Fd> Cache::open_final(const hash::Digest& digest, std::uint64_t size) const {
  const auto directory = find_directory(path_, digest);
  if (!directory) return std::nullopt;
  fs::EntryFacts facts;
  auto fd = directory->open_file_if_there(name_of(digest), &facts);
  if (!fd || facts.size != size) return std::nullopt;
  return fd;
}

void Cache::remove_leftovers(const hash::Digest& digest, std::uint64_t size) {
  if (const auto directory = find_directory(path_, digest)) remove_leftovers_in(*directory, digest, size);
}

bool Cache::remove_bad_final(const hash::Digest& digest, int fd) {
  const auto directory = find_directory(path_, digest);
  if (!directory) return true;
  const fs::RelPath name = name_of(digest);
  const auto there = directory->stat(name);
  const fs::EntryFacts bad = fs::facts_of(fd);
  if (!there || there->dev != bad.dev || there->ino != bad.ino) return true;
  if (fs::sys::unlinkat(directory->fd(), name.str().c_str(), 0) == 0 || errno == ENOENT) return true;
  if (errno == EROFS || errno == EACCES || errno == EPERM) return false;
  throw_errno(errno, "remove", directory->path_of(name));
}

void Cache::seal(int fd) const {
  fs::sys::fchmod(fd, k_final_mode);
}

std::optional<Claim> Cache::claimed_by_other(const hash::Digest& digest, std::uint64_t size) const {
  const auto directory = find_directory(path_, digest);
  if (!directory || is_complete(*directory, digest, size)) return std::nullopt;
  return find_claim(*directory, digest, size);
}

Partial Cache::begin(const hash::Digest& digest, std::uint64_t size, const Stop& stop, Held held) {
  const fs::DirHandle directory = make_directory(path_, digest);
  if (const auto there = directory.stat(name_of(digest))) {
    refuse_other_types(directory, name_of(digest), *there);
  }
  return Partial::claim_or_create(directory, digest.hex(), size, digest, stop, held);
}

std::optional<Partial> Cache::begin_unless_claimed(const hash::Digest& digest, std::uint64_t size,
                                                   const Stop& stop, std::optional<Claim>& claim) {
  const fs::DirHandle directory = make_directory(path_, digest);
  const Turn turn{directory, digest.hex()};
  claim.reset();
  if (!turn.is_ours()) {
    const OwnerFile& other = turn.other();
    claim = Claim{.holder = describe(other), .landed_bytes = 0, .beat = other.stamp, .record = {}};
    return std::nullopt;
  }
  // In this order: who finishes makes the final before the partial goes away.
  claim = find_claim(directory, digest, size);
  if (claim || is_complete(directory, digest, size)) return std::nullopt;
  return begin(digest, size, stop);
}

void Cache::finish(Partial partial, const hash::Digest& digest) {
  const fs::DirHandle directory = make_directory(path_, digest);
  const fs::RelPath name = name_of(digest);
  constexpr int k_rounds = 10;  // more than one only when others remove and make it meanwhile
  for (int round = 0; round < k_rounds; ++round) {
    if (partial.finish(directory, name, k_final_mode)) return;
    const auto there = directory.stat(name);
    if (!there) continue;
    refuse_other_types(directory, name, *there);
    if (there->size == partial.size()) return partial.discard();
    directory.remove_file(name);
  }
  throw Error{ErrorKind::busy,
              fmt::format("{} is made and removed by somebody else again and again",
                          escape_for_display(directory.path_of(name))),
              "let no two commands work on one object of the cache in different ways"};
}

}  // namespace decant::cache
