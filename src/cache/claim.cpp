// SPDX-License-Identifier: Apache-2.0
// Which leftovers are free, and how one becomes ours.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "decant/base/clock.hpp"
#include "decant/base/error.hpp"
#include "decant/base/stop.hpp"
#include "decant/base/text.hpp"
#include "decant/cache/partial.hpp"
#include "decant/fs/owner.hpp"
#include "decant/fs/sys.hpp"
#include "decant/hash/hasher.hpp"
#include "leftovers.hpp"

namespace decant::cache {
namespace {

fs::RelPath rel(const std::string& name) {
  return fs::RelPath::require(name, "partial");
}

void draw_salt(RangeHeader& header) {
  const std::string salt = random_hex(header.salt.size() / 2);
  std::memcpy(header.salt.data(), salt.data(), header.salt.size());
}

// A new record. What is landed in `content` has lost its CRC; its slots come before the header, without which
// they do not count, so that a kill in between loses nothing.
Fd create_record(const fs::DirHandle& bytes_dir, const Content& content) {
  const std::string path = bytes_dir.path_of(ranges_name());
  auto fd = bytes_dir.create_file(ranges_name(), k_record_mode);
  if (!fd) throw_errno(EEXIST, "create", path);
  if (content.landed_bytes > 0) {
    std::vector<std::byte> slots(content.chunks.size() * k_range_slot_bytes);
    for (std::uint64_t chunk = 0; chunk < content.chunks.size(); ++chunk) {
      if (content.chunks[chunk].state == ChunkState::missing) continue;
      const RangeSlotBytes slot = print_unproven_slot(content.header, chunk);
      std::memcpy(slots.data() + chunk * slot.size(), slot.data(), slot.size());
    }
    fs::sys::pwrite_all(fd->get(), slots, static_cast<off_t>(range_slot_offset(0)), path);
  }
  fs::sys::pwrite_all(fd->get(), print_range_header(content.header), 0, path);
  const std::uint64_t length = range_slot_offset(content.chunks.size());
  if (fs::sys::ftruncate(fd->get(), static_cast<off_t>(length)) != 0) throw_errno(errno, "write", path);
  return *std::move(fd);
}

// The content of a `bytes` directory that is ours by now, open for writing.
std::optional<Content> open_content(const fs::DirHandle& own, std::uint64_t size,
                                    const hash::Digest& digest) {
  const auto bytes_dir = own.open_dir_if_there(bytes_name());
  if (!bytes_dir) return std::nullopt;
  auto content = look_into(*bytes_dir, size, &digest);
  if (!content) return std::nullopt;
  // Killed between the last two steps of finish(), it is read-only already.
  if (fs::sys::fchmod(content->data.get(), k_data_mode) != 0) return std::nullopt;
  const fs::Stamp looked_at = fs::stamp_of(fs::facts_of(content->data.get()));
  auto data = bytes_dir->open_for_update(data_name());
  if (!data || fs::stamp_of(fs::facts_of(data->get())) != looked_at) return std::nullopt;
  if (!content->ranges) {
    bytes_dir->remove_file(ranges_name());
    content->header = {.chunk_bytes = k_chunk_bytes, .size = size, .digest = digest};
    draw_salt(content->header);
    content->ranges = create_record(*bytes_dir, *content);
  }
  auto ranges = bytes_dir->open_for_update(ranges_name());
  if (!ranges) return std::nullopt;
  if (looked_at.size != size && fs::sys::ftruncate(data->get(), static_cast<off_t>(size)) != 0) {
    throw_errno(errno, "write", bytes_dir->path());
  }
  content->data = *std::move(data);
  content->ranges = *std::move(ranges);
  return content;
}

// `data` is sparse: reserving blocks is slow or refused on many cluster file systems, the plan has looked at
// the space, and a full disk shows at the write of a chunk as well.
Content make_content(const fs::DirHandle& own, std::uint64_t size, const hash::Digest& digest) {
  const fs::DirHandle bytes_dir = own.make_dirs(bytes_name());
  Content content;
  content.header = {.chunk_bytes = k_chunk_bytes, .size = size, .digest = digest};
  draw_salt(content.header);
  content.chunks.resize(chunks_of(size, k_chunk_bytes));
  content.ranges = create_record(bytes_dir, content);
  auto data = bytes_dir.create_file(data_name(), k_data_mode);
  if (!data) throw_errno(EEXIST, "create", bytes_dir.path_of(data_name()));
  if (fs::sys::ftruncate(data->get(), static_cast<off_t>(size)) != 0) {
    throw_errno(errno, "write", bytes_dir.path_of(data_name()));
  }
  content.data = *std::move(data);
  return content;
}

// Moves the leftover's bytes into our directory. False when somebody else was first, or may not be robbed.
bool take(const Leftover& leftover, const fs::DirHandle& own) {
  const char* name = bytes_name().str().c_str();
  return fs::sys::renameat(leftover.dir.fd(), name, own.fd(), name) == 0;
}

// What is left of a leftover whose bytes are gone. Its owner never comes back, so nobody puts anything in.
void remove_rest(const fs::DirHandle& parent, const Leftover& leftover) {
  try {
    parent.remove_tree(rel(leftover.name));
  } catch (const Error&) {
    // The next run tries again.
  }
}

// Good chunks of a file that may still be written by its owner.
void copy_good_chunks(const Leftover& leftover, Partial::Impl& to, const Stop& stop) {
  const auto bytes_dir = leftover.dir.open_dir_if_there(bytes_name());
  if (!bytes_dir) return;
  const std::uint64_t size = to.content.header.size;
  const auto from = look_into(*bytes_dir, size, &to.content.header.digest);
  if (!from) return;
  for (std::uint64_t chunk = 0; chunk < from->chunks.size(); ++chunk) {
    stop.throw_if_requested();
    if (from->chunks[chunk].state == ChunkState::missing || from->chunks[chunk].is_unproven) continue;
    const ByteRange range = range_of_chunk(size, chunk);
    const auto bytes = read_at(from->data.get(), range.offset, range.length, bytes_dir->path());
    if (bytes.size() != range.length) continue;
    const std::uint32_t crc = hash::crc32c(0, bytes);
    if (crc != from->chunks[chunk].crc) continue;
    fs::sys::pwrite_all(to.content.data.get(), bytes, static_cast<off_t>(range.offset), to.path());
    to.write_slot(chunk, crc);
  }
}

// A new directory that says whose it is. `now` becomes the file system's time.
fs::DirHandle make_own(const fs::DirHandle& parent, const OpenName& name, std::int64_t& now) {
  if (!parent.make_dir(rel(name.str()), 0755)) {
    throw_errno(EEXIST, "create the directory", parent.path_of(rel(name.str())));
  }
  fs::DirHandle own = parent.open_dir(rel(name.str()));
  const auto fd = own.create_file(owner_name(), k_record_mode);
  if (!fd) throw_errno(EEXIST, "create", own.path_of(owner_name()));
  fs::sys::write_all(fd->get(), as_bytes(fs::to_text(fs::this_process())), own.path_of(owner_name()));
  now = time_of(fd->get());
  return own;
}

// Takes the best of the free leftovers; removes those that hold nothing. `taken`: `own` has bytes worth
// keeping.
std::optional<Content> take_best(const fs::DirHandle& parent, const fs::DirHandle& own,
                                 const std::vector<Leftover>& leftovers, std::uint64_t size,
                                 const hash::Digest& digest, bool& taken) {
  for (const Leftover& leftover : leftovers) {
    if (leftover.hold() != Hold::free || leftover.landed_bytes != 0) continue;
    if (leftover.dir.stat(bytes_name())) {
      if (!take(leftover, own)) continue;
      own.remove_tree(bytes_name());
    }
    remove_rest(parent, leftover);
  }
  for (const Leftover& leftover : leftovers) {
    if (leftover.hold() != Hold::free || leftover.landed_bytes == 0 || !take(leftover, own)) continue;
    taken = true;
    remove_rest(parent, leftover);
    if (auto content = open_content(own, size, digest)) return content;
    own.remove_tree(bytes_name());
    taken = false;
  }
  return std::nullopt;
}

}  // namespace

void discard_partial(const fs::DirHandle& parent, const hash::Digest& digest, const std::string& name) {
  const OpenName own_name{digest.hex() + std::string{k_partial_infix} + random_hex(8)};
  try {
    std::int64_t now = 0;
    const fs::DirHandle own = make_own(parent, own_name, now);
    const auto partial = look_at_partial(parent, name, std::nullopt, &digest, now);
    if (partial && partial->hold() != Hold::held) {
      const bool has_bytes = partial->dir.stat(bytes_name()).has_value();
      // Another host's process may wake up and write: its bytes are not moved, and what it still does to them
      // goes nowhere.
      const bool is_ours_now = partial->hold() == Hold::presumably_free || !has_bytes || take(*partial, own);
      if (is_ours_now) parent.remove_tree(rel(name));
    }
    parent.remove_tree(rel(own_name.str()));
  } catch (const Error&) {
    try {
      parent.remove_tree(rel(own_name.str()));
    } catch (const Error&) {
    }
    throw;
  }
}

Partial Partial::claim_or_create(const fs::DirHandle& parent, const std::string& prefix, std::uint64_t size,
                                 const hash::Digest& digest, const Stop& stop, Held held) {
  auto name = std::make_unique<OpenName>(prefix + std::string{k_partial_infix} + random_hex(8));
  auto impl = std::make_unique<Impl>(parent, std::move(name));
  bool taken = false;
  try {
    std::int64_t now = 0;
    const fs::DirHandle own = make_own(parent, *impl->name, now);
    auto others = find_partials(parent, prefix, size, &digest, now);
    const auto leftovers = take_claimable(others);
    if (auto content = take_best(parent, own, leftovers, size, digest, taken)) {
      impl->content = *std::move(content);
      return Partial{std::move(impl)};
    }
    impl->content = make_content(own, size, digest);
    const auto copy = [&](const Leftover& from) {
      try {
        if (impl->content.landed_bytes == 0) copy_good_chunks(from, *impl, stop);
      } catch (const Error&) {
        // No space for two copies, or unreadable: what has been copied is good, the rest is fetched again.
      }
    };
    for (const Leftover& leftover : leftovers) {
      if (leftover.hold() != Hold::presumably_free) continue;
      copy(leftover);
      remove_rest(parent, leftover);
    }
    if (held == Held::copy) {
      for (const Leftover& other : others) copy(other);
    }
    return Partial{std::move(impl)};
  } catch (const Error&) {
    if (taken) throw;  // a leftover again as soon as `impl` is gone
    try {
      parent.remove_tree(impl->dir());
    } catch (const Error&) {
    }
    throw;
  }
}

std::uint64_t Partial::landed_bytes_of_leftovers(const fs::DirHandle& parent, const std::string& prefix,
                                                 std::uint64_t size) {
  const auto leftovers = find_leftovers(parent, prefix, size, nullptr, system_clock().wall_seconds());
  return leftovers.empty() ? 0 : leftovers.front().landed_bytes;
}

void Partial::remove_empty_leftovers(const fs::DirHandle& parent, const std::string& prefix,
                                     std::uint64_t size, const hash::Digest& digest) {
  try {
    for (const Leftover& leftover :
         find_leftovers(parent, prefix, size, &digest, system_clock().wall_seconds()))
      if (leftover.hold() == Hold::free && leftover.landed_bytes == 0) remove_rest(parent, leftover);
  } catch (const Error&) {  // a cache that may only be read
  }
}

}  // namespace decant::cache
