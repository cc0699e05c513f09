// SPDX-License-Identifier: Apache-2.0
#include "decant/cache/partial.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>
#include <utility>
#include <vector>

#include "decant/base/error.hpp"
#include "decant/fs/sys.hpp"
#include "decant/hash/hasher.hpp"
#include "leftovers.hpp"

namespace decant::cache {
namespace {

struct OpenNames {
  std::mutex mutex;
  std::set<std::string> names;
};

OpenNames& open_names() {
  static OpenNames names;
  return names;
}

std::uint32_t crc_of_zeros(std::uint64_t length) {
  const std::vector<std::byte> zeros(length);
  return hash::crc32c(0, zeros);
}

}  // namespace

OpenName::OpenName(std::string name) : name_{std::move(name)} {
  const std::lock_guard lock{open_names().mutex};
  open_names().names.insert(name_);
}

OpenName::~OpenName() {
  const std::lock_guard lock{open_names().mutex};
  open_names().names.erase(name_);
}

bool OpenName::is_open(const std::string& name) {
  const std::lock_guard lock{open_names().mutex};
  return open_names().names.contains(name);
}

const fs::RelPath& owner_name() {
  static const auto name = fs::RelPath::require("owner", "partial");
  return name;
}
const fs::RelPath& bytes_name() {
  static const auto name = fs::RelPath::require("bytes", "partial");
  return name;
}
const fs::RelPath& data_name() {
  static const auto name = fs::RelPath::require("data", "partial");
  return name;
}
const fs::RelPath& ranges_name() {
  static const auto name = fs::RelPath::require("ranges", "partial");
  return name;
}

Chunk& Partial::Impl::chunk_at(std::uint64_t chunk) {
  if (chunk >= content.chunks.size()) {
    throw Error{ErrorKind::bug, fmt::format("chunk {} of {}", chunk, content.chunks.size())};
  }
  return content.chunks[chunk];
}

void Partial::Impl::set(std::uint64_t chunk, Chunk value) {
  Chunk& now = chunk_at(chunk);
  const std::uint64_t length = range_of_chunk(content.header.size, chunk).length;
  if (now.state != ChunkState::missing) content.landed_bytes -= length;
  if (value.state != ChunkState::missing) content.landed_bytes += length;
  now = value;
}

void Partial::Impl::write_slot(std::uint64_t chunk, std::uint32_t crc) {
  const RangeSlotBytes slot = print_range_slot(content.header, chunk, crc);
  fs::sys::pwrite_all(content.ranges.get(), slot, static_cast<off_t>(range_slot_offset(chunk)), path());
  set(chunk, {ChunkState::landed, crc});
}

void Partial::Impl::clear_slot(std::uint64_t chunk) {
  set(chunk, {});
  constexpr RangeSlotBytes k_missing{};
  fs::sys::pwrite_all(content.ranges.get(), k_missing, static_cast<off_t>(range_slot_offset(chunk)), path());
}

Partial::Partial(std::unique_ptr<Impl> impl) : impl_{std::move(impl)} {}
Partial::~Partial() = default;
Partial::Partial(Partial&&) noexcept = default;
Partial& Partial::operator=(Partial&&) noexcept = default;

std::uint64_t Partial::size() const {
  return impl_->content.header.size;
}

std::uint64_t Partial::chunk_count() const {
  return impl_->content.chunks.size();
}

ByteRange Partial::chunk_range(std::uint64_t chunk) const {
  impl_->chunk_at(chunk);
  return range_of_chunk(size(), chunk);
}

ChunkState Partial::chunk_state(std::uint64_t chunk) const {
  const std::lock_guard lock{impl_->mutex};
  return impl_->chunk_at(chunk).state;
}

std::uint64_t Partial::landed_bytes() const {
  const std::lock_guard lock{impl_->mutex};
  return impl_->content.landed_bytes;
}

int Partial::data_fd() const {
  return impl_->content.data.get();
}

std::string Partial::path() const {
  return impl_->path();
}

// It changes the file: no const function.
// NOLINTNEXTLINE(readability-make-member-function-const)
void Partial::write_at(std::uint64_t offset, Bytes bytes) {
  if (offset > size() || bytes.size() > size() - offset) {
    throw Error{ErrorKind::bug, fmt::format("a write past the end of {}", path())};
  }
  fs::sys::pwrite_all(data_fd(), bytes, static_cast<off_t>(offset), path());
}

void Partial::mark_landed(std::uint64_t chunk, std::uint32_t crc) {
  const std::lock_guard lock{impl_->mutex};
  impl_->chunk_at(chunk);
  impl_->write_slot(chunk, crc);
}

bool Partial::confirm(std::uint64_t chunk, Bytes bytes) {
  return confirm_crc(chunk, hash::crc32c(0, bytes));
}

bool Partial::confirm_crc(std::uint64_t chunk, std::uint32_t crc) {
  const std::lock_guard lock{impl_->mutex};
  Chunk& known = impl_->chunk_at(chunk);
  if (known.state == ChunkState::missing) return false;
  if (known.is_unproven) {
    // What never was written reads as zeros where the file system knows no holes.
    if (crc == crc_of_zeros(range_of_chunk(size(), chunk).length)) {
      impl_->clear_slot(chunk);
      return false;
    }
    impl_->write_slot(chunk, crc);
    return true;
  }
  if (known.crc != crc) {
    impl_->clear_slot(chunk);
    return false;
  }
  known.state = ChunkState::landed;
  return true;
}

void Partial::drop(std::uint64_t chunk) {
  const std::lock_guard lock{impl_->mutex};
  if (impl_->chunk_at(chunk).state != ChunkState::missing) impl_->clear_slot(chunk);
}

void Partial::drop_all() {
  const std::lock_guard lock{impl_->mutex};
  for (std::uint64_t chunk = 0; chunk < impl_->content.chunks.size(); ++chunk) impl_->set(chunk, {});
  // Cut and grown again, all slots are zero: two calls instead of one a chunk.
  const int fd = impl_->content.ranges.get();
  if (fs::sys::ftruncate(fd, static_cast<off_t>(k_range_header_bytes)) != 0 ||
      fs::sys::ftruncate(fd, static_cast<off_t>(range_slot_offset(impl_->content.chunks.size()))) != 0) {
    throw_errno(errno, "write", path());
  }
}

// Through the directory, which costs an open every half minute and spares a descriptor held all the time.
// Failing is fine: it only makes others think earlier that we are gone, and they copy.
void Partial::heartbeat() {
  try {
    const auto dir = impl_->parent.open_dir_if_there(impl_->dir());
    if (dir) fs::sys::utimensat(dir->fd(), owner_name().str().c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
  } catch (const Error&) {
  }
}

bool Partial::finish(const fs::DirHandle& to_dir, const fs::RelPath& to, mode_t mode) {
  if (landed_bytes() != size()) throw Error{ErrorKind::bug, fmt::format("{} is not complete", path())};
  const int fd = data_fd();
  if (fs::sys::fsync(fd) != 0) {
    const int error = errno;
    // A second fsync would succeed: the kernel has marked the pages clean. What is on disk is unknown.
    drop_all();
    throw_errno(error, "sync", path());
  }
  if (fs::sys::fchmod(fd, mode) != 0) throw_errno(errno, "change the mode of", path());

  const fs::DirHandle from = impl_->parent.open_dir(impl_->dir() / bytes_name());
  if (!from.rename_noreplace(data_name(), to_dir, to)) {
    if (fs::sys::fchmod(fd, k_data_mode) != 0) throw_errno(errno, "change the mode of", path());
    return false;
  }
  to.parent().is_root() ? to_dir.sync() : to_dir.open_dir(to.parent()).sync();
  from.sync();
  impl_->parent.remove_tree(impl_->dir());
  return true;
}

void Partial::discard() {
  impl_->parent.remove_tree(impl_->dir());
}

}  // namespace decant::cache
