// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decant/base/bytes.hpp"
#include "decant/base/fd.hpp"
#include "decant/fs/rel_path.hpp"

namespace decant::fs {

enum class FileType { file, dir, symlink, other };

// What one lstat tells.
struct EntryFacts {
  FileType type = FileType::other;
  mode_t mode = 0;  // permission bits only
  std::uint64_t size = 0;
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::int64_t mtime_sec = 0;
  std::uint32_t mtime_nsec = 0;
  std::uint64_t nlink = 0;
  uid_t uid = 0;
  bool owner_executable() const { return (mode & 0100) != 0; }
};

// Says that a file is the very same as at an earlier moment, for skipping work; never a proof of its bytes.
struct Stamp {
  std::uint64_t dev = 0;
  std::uint64_t ino = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_sec = 0;
  std::uint32_t mtime_nsec = 0;
  bool operator==(const Stamp&) const = default;
};
Stamp stamp_of(const EntryFacts& facts);

enum class Missing { is_error, create };

// An open directory; all work below it goes component by component and follows no symbolic link, so that
// nobody who swaps a directory for a link can lead it outside (openat2 RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS
// where the kernel has it, openat O_NOFOLLOW per component elsewhere). Every failure throws Error{disk} that
// names the whole path, unless said otherwise. Thread-safe: it has no state but the descriptor.
class DirHandle {
 public:
  // `path` is the user's own choice: links in it are followed once, here. With Missing::create the missing
  // directories are made (0755, masked).
  static DirHandle open(const std::string& path, Missing missing);
  // nullopt when nothing is there; throws Error{disk} when it is no directory or cannot be opened.
  static std::optional<DirHandle> open_if_there(const std::string& path);

  int fd() const noexcept { return fd_.get(); }
  // As given to open(), plus what was opened below it; for messages only.
  const std::string& path() const noexcept { return path_; }
  std::string path_of(const RelPath& rel) const;

  DirHandle duplicate() const;
  DirHandle open_dir(const RelPath& rel) const;
  // nullopt: missing, or it or a parent is no real directory.
  std::optional<DirHandle> open_dir_if_there(const RelPath& rel) const;
  // Makes every missing component with `mode` (before umask) and returns the last one. A component that is
  // there but no real directory throws Error{conflict}.
  DirHandle make_dirs(const RelPath& rel, mode_t mode = 0755) const;
  // Makes one directory; false when the name is taken (by anything).
  bool make_dir(const RelPath& rel, mode_t mode) const;

  // lstat; nullopt when missing or when a parent is missing or no real directory.
  std::optional<EntryFacts> stat(const RelPath& rel) const;
  // Opens a regular file for reading (O_NOFOLLOW | O_NONBLOCK, type checked after opening: a FIFO cannot hang
  // us). nullopt when missing or no regular file.
  std::optional<Fd> open_file_if_there(const RelPath& rel, EntryFacts* facts = nullptr) const;
  Fd open_file(const RelPath& rel) const;
  // Creates a new file (O_EXCL | O_NOFOLLOW, read and write). nullopt when the name is taken.
  std::optional<Fd> create_file(const RelPath& rel, mode_t mode) const;
  // Opens an existing regular file for reading and writing; nullopt when missing or no regular file.
  std::optional<Fd> open_for_update(const RelPath& rel) const;
  std::optional<std::string> read_link(const RelPath& rel) const;  // nullopt: missing or no link
  // Names in this directory, sorted by bytes, without `.` and `..`.
  std::vector<std::string> list() const;

  void remove_file(const RelPath& rel) const;  // missing is fine
  void remove_dir(const RelPath& rel) const;   // missing is fine; not empty throws
  // Removes everything below rel and rel itself, following no link; missing is fine.
  void remove_tree(const RelPath& rel) const;
  // Renames within or between handles, replacing a file at the target.
  void rename(const RelPath& from, const DirHandle& to_dir, const RelPath& to) const;
  // False when the target name is taken. Falls back to linkat + unlinkat for files and links, and to `mkdir
  // first` for nothing: a directory on a file system without NOREPLACE throws Error{disk} with errno EINVAL
  // kept in words.
  bool rename_noreplace(const RelPath& from, const DirHandle& to_dir, const RelPath& to) const;
  void sync() const;              // fsync of this directory
  void sync_file_system() const;  // syncfs

  // Whole small file; nullopt when missing or no regular file; throws Error{state} when larger than `limit`
  // bytes.
  std::optional<std::string> read_small_file(const RelPath& rel, std::uint64_t limit) const;
  // temp -> write -> fsync -> rename -> fsync(dir). The temp name begins with ".tmp-".
  void write_file_atomically(const RelPath& rel, std::string_view content, mode_t mode = 0644) const;
  // The same for content that comes in pieces; what `write` throws leaves the old file.
  void write_file_atomically(const RelPath& rel, const std::function<void(ByteSink&)>& write,
                             mode_t mode = 0644) const;

 private:
  DirHandle(Fd fd, std::string path) : fd_{std::move(fd)}, path_{std::move(path)} {}
  Fd fd_;
  std::string path_;
};

EntryFacts facts_of(int fd);  // fstat; throws Error{disk}

}  // namespace decant::fs
