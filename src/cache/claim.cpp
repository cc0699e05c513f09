// SPDX-License-Identifier: Apache-2.0
// Which leftovers are free, and how one becomes ours.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "decant/base/clock.hpp"
#include "decant/base/error.hpp"
#include "decant/base/stop.hpp"
#include "decant/base/text.hpp"
#include "decant/cache/partial.hpp"
#include "decant/fs/owner.hpp"
#include "decant/fs/read.hpp"
#include "decant/fs/sys.hpp"
#include "decant/hash/hasher.hpp"
#include "partial_impl.hpp"

namespace decant::cache {
namespace {

constexpr std::string_view k_infix = ".partial.";
constexpr std::uint64_t k_most_owner_bytes = 4096;
constexpr mode_t k_data_mode = 0600;
constexpr mode_t k_record_mode = 0644;

fs::RelPath rel(const std::string& name) {
  return fs::RelPath::require(name, "partial");
}

bool is_ours(const fs::EntryFacts& facts) {
  return facts.uid == ::geteuid();
}

// A file that nobody else can have planted to make us write elsewhere.
bool is_plain_file_of_ours(const fs::EntryFacts& facts) {
  return facts.type == fs::FileType::file && facts.nlink == 1 && is_ours(facts);
}

std::vector<std::byte> read_at(int fd, std::uint64_t offset, std::uint64_t size, std::string_view path) {
  std::vector<std::byte> bytes(size);
  bytes.resize(fs::pread_all(fd, bytes, offset, path));
  return bytes;
}

// What a range record says about data of `data_size` bytes; nullopt when the record is for something else.
std::optional<Content> parse_record(Bytes record, std::uint64_t data_size, std::uint64_t size,
                                    const hash::Digest* digest) {
  const auto header = parse_range_header(record);
  if (!header || header->chunk_bytes != k_chunk_bytes || header->size != size) return std::nullopt;
  if (digest != nullptr && header->digest != *digest) return std::nullopt;
  Content content;
  content.header = *header;
  content.chunks.resize(chunks_of(size, k_chunk_bytes));
  for (std::uint64_t chunk = 0; chunk < content.chunks.size(); ++chunk) {
    const ByteRange range = range_of_chunk(size, chunk);
    const std::uint64_t at = range_slot_offset(chunk);
    if (range.end() > data_size || at > record.size()) break;
    const auto crc = parse_range_slot(*header, chunk, record.subspan(at));
    if (!crc) continue;
    content.chunks[chunk] = {ChunkState::landed_earlier, *crc};
    content.landed_bytes += range.length;
  }
  return content;
}

// Reads, for counting and for copying; claims nothing.
std::optional<Content> look_into(const fs::DirHandle& bytes_dir, std::uint64_t size,
                                 const hash::Digest* digest) {
  fs::EntryFacts record_facts;
  fs::EntryFacts data_facts;
  auto ranges = bytes_dir.open_file_if_there(ranges_name(), &record_facts);
  if (!ranges || !is_plain_file_of_ours(record_facts)) return std::nullopt;
  auto data = bytes_dir.open_file_if_there(data_name(), &data_facts);
  if (!data || !is_plain_file_of_ours(data_facts)) return std::nullopt;
  const std::uint64_t most = range_slot_offset(chunks_of(size, k_chunk_bytes));
  const auto record = read_at(ranges->get(), 0, std::min(record_facts.size, most), bytes_dir.path());
  auto content = parse_record(record, data_facts.size, size, digest);
  if (!content) return std::nullopt;
  content->ranges = *std::move(ranges);
  content->data = *std::move(data);
  return content;
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
  auto ranges = bytes_dir->open_for_update(ranges_name());
  if (!data || !ranges || fs::stamp_of(fs::facts_of(data->get())) != looked_at) return std::nullopt;
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
  const auto create = [&](const fs::RelPath& name, mode_t mode, std::uint64_t length, Bytes start) {
    auto fd = bytes_dir.create_file(name, mode);
    if (!fd) throw_errno(EEXIST, "create", bytes_dir.path_of(name));
    fs::sys::pwrite_all(fd->get(), start, 0, bytes_dir.path_of(name));
    if (fs::sys::ftruncate(fd->get(), static_cast<off_t>(length)) != 0) {
      throw_errno(errno, "write", bytes_dir.path_of(name));
    }
    return *std::move(fd);
  };
  Content content;
  content.header = {.chunk_bytes = k_chunk_bytes, .size = size, .digest = digest};
  const std::string salt = random_hex(content.header.salt.size() / 2);
  std::memcpy(content.header.salt.data(), salt.data(), content.header.salt.size());
  content.chunks.resize(chunks_of(size, k_chunk_bytes));
  content.ranges = create(ranges_name(), k_record_mode, range_slot_offset(content.chunks.size()),
                          print_range_header(content.header));
  content.data = create(data_name(), k_data_mode, size, {});
  return content;
}

enum class Hold {
  held,             // by a live process, this one included, or not ours to judge
  free,             // by nobody: to be taken
  presumably_free,  // by a process of another host that has not been heard of: to be copied
};

struct Leftover {
  std::string name;
  fs::DirHandle dir;
  Hold hold = Hold::held;
  std::uint64_t landed_bytes = 0;
};

Hold judge(const std::string& name, const fs::DirHandle& dir, std::int64_t now) {
  std::optional<fs::Owner> owner;
  try {
    if (const auto text = dir.read_small_file(owner_name(), k_most_owner_bytes))
      owner = fs::parse_owner(*text);
  } catch (const Error&) {  // too large or unreadable: no owner
  }
  switch (owner ? fs::liveness(*owner) : fs::Liveness::unknown_host) {
    case fs::Liveness::self:
      return OpenName::is_open(name) ? Hold::held : Hold::free;
    case fs::Liveness::alive:
      return Hold::held;
    case fs::Liveness::dead:
      return Hold::free;
    case fs::Liveness::unknown_host:
      break;
  }
  // Without an owner: somebody may be just about to write it, or a power cut took it.
  const auto beat = dir.stat(owner_name());
  const std::int64_t last = beat ? beat->mtime_sec : fs::facts_of(dir.fd()).mtime_sec;
  return now - last > fs::k_heartbeat_expiry_seconds ? Hold::presumably_free : Hold::held;
}

// Leftovers that may be claimed, most landed bytes first. `now`: the file system's own clock. What cannot be
// read is passed over: in a shared cache it may be somebody else's.
std::vector<Leftover> find_leftovers(const fs::DirHandle& parent, const std::string& prefix,
                                     std::uint64_t size, const hash::Digest* digest, std::int64_t now) {
  std::vector<Leftover> found;
  const std::string start = prefix + std::string{k_infix};
  for (const std::string& name : parent.list()) {
    if (!name.starts_with(start)) continue;
    try {
      auto dir = parent.open_dir_if_there(rel(name));
      if (!dir || !is_ours(fs::facts_of(dir->fd()))) continue;
      const Hold hold = judge(name, *dir, now);
      if (hold == Hold::held) continue;
      std::uint64_t landed = 0;
      if (const auto bytes_dir = dir->open_dir_if_there(bytes_name())) {
        if (const auto content = look_into(*bytes_dir, size, digest)) landed = content->landed_bytes;
      }
      found.push_back(Leftover{name, *std::move(dir), hold, landed});
    } catch (const Error&) {
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Leftover& a, const Leftover& b) { return a.landed_bytes > b.landed_bytes; });
  return found;
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
    if (from->chunks[chunk].state == ChunkState::missing) continue;
    const ByteRange range = range_of_chunk(size, chunk);
    const auto bytes = read_at(from->data.get(), range.offset, range.length, bytes_dir->path());
    if (bytes.size() != range.length) continue;
    const std::uint32_t crc = hash::crc32c(0, bytes);
    if (crc != from->chunks[chunk].crc) continue;
    fs::sys::pwrite_all(to.content.data.get(), bytes, static_cast<off_t>(range.offset), to.path());
    const RangeSlotBytes slot = print_range_slot(to.content.header, chunk, crc);
    fs::sys::pwrite_all(to.content.ranges.get(), slot, static_cast<off_t>(range_slot_offset(chunk)),
                        to.path());
    to.set(chunk, {ChunkState::landed, crc});
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
  now = fs::facts_of(fd->get()).mtime_sec;
  return own;
}

// Takes the best of the free leftovers; removes those that hold nothing. `taken`: `own` has bytes worth
// keeping.
std::optional<Content> take_best(const fs::DirHandle& parent, const fs::DirHandle& own,
                                 const std::vector<Leftover>& leftovers, std::uint64_t size,
                                 const hash::Digest& digest, bool& taken) {
  for (const Leftover& leftover : leftovers) {
    if (leftover.hold != Hold::free || leftover.landed_bytes != 0) continue;
    if (leftover.dir.stat(bytes_name())) {
      if (!take(leftover, own)) continue;
      own.remove_tree(bytes_name());
    }
    remove_rest(parent, leftover);
  }
  for (const Leftover& leftover : leftovers) {
    if (leftover.hold != Hold::free || leftover.landed_bytes == 0 || !take(leftover, own)) continue;
    taken = true;
    remove_rest(parent, leftover);
    if (auto content = open_content(own, size, digest)) return content;
    own.remove_tree(bytes_name());
    taken = false;
  }
  return std::nullopt;
}

}  // namespace

Partial Partial::claim_or_create(const fs::DirHandle& parent, const std::string& prefix, std::uint64_t size,
                                 const hash::Digest& digest, const Stop& stop) {
  auto name = std::make_unique<OpenName>(prefix + std::string{k_infix} + random_hex(8));
  auto impl = std::make_unique<Impl>(parent, std::move(name));
  bool taken = false;
  try {
    std::int64_t now = 0;
    const fs::DirHandle own = make_own(parent, *impl->name, now);
    const auto leftovers = find_leftovers(parent, prefix, size, &digest, now);
    if (auto content = take_best(parent, own, leftovers, size, digest, taken)) {
      impl->content = *std::move(content);
      return Partial{std::move(impl)};
    }
    impl->content = make_content(own, size, digest);
    for (const Leftover& leftover : leftovers) {
      if (leftover.hold != Hold::presumably_free) continue;
      try {
        if (impl->content.landed_bytes == 0) copy_good_chunks(leftover, *impl, stop);
      } catch (const Error&) {
        // No space for two copies, or unreadable: what has been copied is good, the rest is fetched again.
      }
      remove_rest(parent, leftover);
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
      if (leftover.hold == Hold::free && leftover.landed_bytes == 0) remove_rest(parent, leftover);
  } catch (const Error&) {  // a cache that may only be read
  }
}

}  // namespace decant::cache
