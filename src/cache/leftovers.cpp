// SPDX-License-Identifier: Apache-2.0
#include "leftovers.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "decant/base/clock.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/read.hpp"

namespace decant::cache {
namespace {

constexpr std::uint64_t k_most_owner_bytes = 4096;

bool is_ours(const fs::EntryFacts& facts) {
  return facts.uid == ::geteuid();
}

// A file that nobody else can have planted to make us write elsewhere.
bool is_plain_file_of_ours(const fs::EntryFacts& facts) {
  return facts.type == fs::FileType::file && facts.nlink == 1 && is_ours(facts);
}

// What a range record says about data of `data_size` bytes.
void read_slots(Content& content, Bytes record, std::uint64_t data_size) {
  const std::uint64_t size = content.header.size;
  for (std::uint64_t chunk = 0; chunk < content.chunks.size(); ++chunk) {
    const ByteRange range = range_of_chunk(size, chunk);
    const std::uint64_t at = range_slot_offset(chunk);
    if (range.end() > data_size || at > record.size()) break;
    const Bytes slot = record.subspan(at);
    const auto crc = parse_range_slot(content.header, chunk, slot);
    const bool is_unproven = !crc && is_unproven_slot(content.header, chunk, slot);
    if (!crc && !is_unproven) continue;
    content.chunks[chunk] = {ChunkState::landed_earlier, crc.value_or(0), is_unproven};
    content.landed_bytes += range.length;
  }
}

// Without a record only the file's holes tell what was written: a chunk that has one is missing. Where the
// file system knows no holes the zeros tell, when the chunk is read.
void read_holes(Content& content, std::uint64_t data_size) {
  const std::uint64_t size = content.header.size;
  std::uint64_t hole = 0;  // no hole between the last chunk's start and here
  for (std::uint64_t chunk = 0; chunk < content.chunks.size(); ++chunk) {
    const ByteRange range = range_of_chunk(size, chunk);
    if (range.end() > data_size) break;
    if (hole < range.end()) {
      const off_t next = ::lseek(content.data.get(), static_cast<off_t>(range.offset), SEEK_HOLE);
      if (next < 0) return;
      hole = static_cast<std::uint64_t>(next);
    }
    if (hole < range.end()) continue;
    content.chunks[chunk] = {ChunkState::landed_earlier, 0, true};
    content.landed_bytes += range.length;
  }
}

bool belongs_to(const RangeHeader& header, std::uint64_t size, const hash::Digest* digest) {
  return header.chunk_bytes == k_chunk_bytes && header.size == size &&
         (digest == nullptr || header.digest == *digest);
}

}  // namespace

std::vector<std::byte> read_at(int fd, std::uint64_t offset, std::uint64_t size, std::string_view path) {
  std::vector<std::byte> bytes(size);
  bytes.resize(fs::pread_all(fd, bytes, offset, path));
  return bytes;
}

std::int64_t time_of(int fd) {
  return fs::facts_of(fd).mtime_sec;
}

OwnerFile read_owner(const fs::DirHandle& dir, const fs::RelPath& name, std::int64_t now,
                     std::int64_t expiry) {
  OwnerFile file;
  try {
    if (const auto text = dir.read_small_file(name, k_most_owner_bytes)) file.owner = fs::parse_owner(*text);
  } catch (const Error&) {  // too large or unreadable: no owner
  }
  const auto facts = dir.stat(name);
  file.stamp = fs::stamp_of(facts ? *facts : fs::facts_of(dir.fd()));
  switch (file.owner ? fs::liveness(*file.owner) : fs::Liveness::unknown_host) {
    case fs::Liveness::self:
      file.is_self = true;
      return file;
    case fs::Liveness::alive:
      return file;
    case fs::Liveness::dead:
      file.hold = Hold::free;
      return file;
    case fs::Liveness::unknown_host:
      break;
  }
  // Without an owner: a power cut took it, or it is about to be written.
  if (now - file.stamp.mtime_sec > expiry) file.hold = Hold::presumably_free;
  return file;
}

std::string describe(const OwnerFile& file) {
  if (!file.owner) return "an unreadable claim since " + format_utc(file.stamp.mtime_sec);
  return fmt::format("pid {} on {} since {}", file.owner->pid, escape_for_display(file.owner->host),
                     format_utc(file.owner->since));
}

std::optional<Content> look_into(const fs::DirHandle& bytes_dir, std::uint64_t size,
                                 const hash::Digest* digest) {
  fs::EntryFacts data_facts;
  auto data = bytes_dir.open_file_if_there(data_name(), &data_facts);
  if (!data || !is_plain_file_of_ours(data_facts)) return std::nullopt;
  Content content;
  content.data = *std::move(data);
  content.chunks.resize(chunks_of(size, k_chunk_bytes));
  content.header.size = size;
  if (!bytes_dir.stat(ranges_name())) {
    read_holes(content, data_facts.size);
    return content;
  }
  fs::EntryFacts record_facts;
  auto ranges = bytes_dir.open_file_if_there(ranges_name(), &record_facts);
  if (!ranges || !is_plain_file_of_ours(record_facts)) return std::nullopt;
  const std::uint64_t most = range_slot_offset(content.chunks.size());
  const auto record = read_at(ranges->get(), 0, std::min(record_facts.size, most), bytes_dir.path());
  if (const auto header = parse_range_header(record)) {
    if (!belongs_to(*header, size, digest)) return std::nullopt;
    content.header = *header;
    content.ranges = *std::move(ranges);
    read_slots(content, record, data_facts.size);
  } else {
    read_holes(content, data_facts.size);
  }
  return content;
}

std::optional<Leftover> look_at_partial(const fs::DirHandle& parent, const std::string& name,
                                        std::optional<std::uint64_t> size, const hash::Digest* digest,
                                        std::int64_t now) {
  auto dir = parent.open_dir_if_there(fs::RelPath::require(name, "partial"));
  if (!dir) return std::nullopt;
  OwnerFile owner = read_owner(*dir, owner_name(), now, fs::k_heartbeat_expiry_seconds);
  if (owner.is_self && !OpenName::is_open(name)) owner.hold = Hold::free;
  Leftover found{.name = name, .dir = *std::move(dir), .owner = std::move(owner), .record = {}};
  found.is_ours = is_ours(fs::facts_of(found.dir.fd()));
  if (const auto bytes_dir = found.dir.open_dir_if_there(bytes_name())) {
    if (const auto ranges = bytes_dir->stat(ranges_name())) found.record = fs::stamp_of(*ranges);
    const auto data = bytes_dir->stat(data_name());
    const std::uint64_t expected = size ? *size : data ? data->size : 0;
    if (const auto content = look_into(*bytes_dir, expected, digest))
      found.landed_bytes = content->landed_bytes;
  }
  return found;
}

std::vector<Leftover> find_partials(const fs::DirHandle& parent, const std::string& prefix,
                                    std::uint64_t size, const hash::Digest* digest, std::int64_t now) {
  std::vector<Leftover> found;
  const std::string start = prefix + std::string{k_partial_infix};
  for (const std::string& name : parent.list()) {
    if (!name.starts_with(start)) continue;
    try {
      if (auto partial = look_at_partial(parent, name, size, digest, now))
        found.push_back(*std::move(partial));
    } catch (const Error&) {
    }
  }
  return found;
}

std::vector<Leftover> take_claimable(std::vector<Leftover>& partials) {
  const auto first = std::stable_partition(partials.begin(), partials.end(), [](const Leftover& partial) {
    return partial.hold() == Hold::held || !partial.is_ours;
  });
  std::vector<Leftover> claimable{std::make_move_iterator(first), std::make_move_iterator(partials.end())};
  partials.erase(first, partials.end());
  std::stable_sort(claimable.begin(), claimable.end(),
                   [](const Leftover& a, const Leftover& b) { return a.landed_bytes > b.landed_bytes; });
  return claimable;
}

std::vector<Leftover> find_leftovers(const fs::DirHandle& parent, const std::string& prefix,
                                     std::uint64_t size, const hash::Digest* digest, std::int64_t now) {
  auto partials = find_partials(parent, prefix, size, digest, now);
  return take_claimable(partials);
}

}  // namespace decant::cache
