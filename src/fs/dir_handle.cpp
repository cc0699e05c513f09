// SPDX-License-Identifier: Apache-2.0
// Opens go beneath the root in one step; every change opens the parent beneath and names only the last
// component, as there is no "mkdirat2". So between two calls a directory may be moved, but never be led out
// of by a link.
#include "decant/fs/dir_handle.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "beneath.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/sys.hpp"

namespace decant::fs {
namespace {

constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY;
constexpr int k_only_to_pass = O_PATH | O_DIRECTORY;  // needs no read permission
// O_NONBLOCK: opening a FIFO or a device must not wait for somebody.
constexpr int k_file_flags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

bool means_not_there(int error) {
  return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

EntryFacts to_facts(const struct stat& st) {
  EntryFacts facts;
  if (S_ISREG(st.st_mode)) {
    facts.type = FileType::file;
  } else if (S_ISDIR(st.st_mode)) {
    facts.type = FileType::dir;
  } else if (S_ISLNK(st.st_mode)) {
    facts.type = FileType::symlink;
  }
  facts.mode = st.st_mode & 07777;
  facts.size = static_cast<std::uint64_t>(st.st_size);
  facts.dev = st.st_dev;
  facts.ino = st.st_ino;
  facts.mtime_sec = st.st_mtim.tv_sec;
  facts.mtime_nsec = static_cast<std::uint32_t>(st.st_mtim.tv_nsec);
  facts.nlink = st.st_nlink;
  facts.uid = st.st_uid;
  return facts;
}

EntryFacts facts_of_named(int fd, std::string_view path) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) throw_errno(errno, "examine", path);
  return to_facts(st);
}

std::optional<EntryFacts> stat_at(int dirfd, const char* name, std::string_view path) {
  struct stat st {};
  if (::fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) return to_facts(st);
  if (means_not_there(errno)) return std::nullopt;
  throw_errno(errno, "examine", path);
}

// The directory that holds the last component of a path, and that component.
struct Place {
  Fd opened;
  int dirfd = -1;  // -1: the directory is not there; errno tells why
  const char* name = nullptr;

  explicit operator bool() const { return dirfd >= 0; }
};

// Refers to `rel` and to `root_fd`.
Place place_of(int root_fd, const RelPath& rel, int flags = k_only_to_pass) {
  const std::string& text = rel.str();
  const std::size_t slash = text.rfind('/');
  if (slash == std::string::npos) return {Fd{}, root_fd, text.c_str()};
  Fd parent{open_beneath(root_fd, rel.parent(), flags)};
  const int dirfd = parent.get();
  return {std::move(parent), dirfd, text.c_str() + slash + 1};
}

void refuse_root(const RelPath& rel, std::string_view doing) {
  if (rel.is_root()) throw Error{ErrorKind::bug, fmt::format("asked to {} a root itself", doing)};
}

std::vector<std::string> names_in(Fd directory, std::string_view path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> stream{::fdopendir(directory.get()), ::closedir};
  if (stream == nullptr) throw_errno(errno, "list", path);
  directory.release();  // closedir closes it
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());  // a stream of our own: no other thread uses it
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) throw_errno(errno, "list", path);
  std::sort(names.begin(), names.end());
  return names;
}

// Lets us list and empty a directory that its owner (we) had closed, in a tree that is being removed anyway.
void open_up(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0 || st.st_uid != ::geteuid() || (st.st_mode & 0700) == 0700) return;
  // fchmod refuses O_PATH descriptors; this name leads to the very same directory.
  sys::chmod(fmt::format("/proc/self/fd/{}", fd).c_str(), (st.st_mode & 07777) | 0700);
}

void remove_tree_at(int dirfd, const char* name, const std::string& path) {
  if (sys::unlinkat(dirfd, name, 0) == 0 || errno == ENOENT) return;
  const int why_not_unlinked = errno;
  if (why_not_unlinked != EISDIR && why_not_unlinked != EPERM) throw_errno(why_not_unlinked, "remove", path);
  {
    const Fd passed{::openat(dirfd, name, k_only_to_pass | O_NOFOLLOW | O_CLOEXEC)};
    if (!passed) {
      if (errno == ENOENT) return;
      throw_errno(errno == ENOTDIR || errno == ELOOP ? why_not_unlinked : errno, "remove", path);
    }
    open_up(passed.get());
    Fd directory{::openat(passed.get(), ".", k_directory_flags | O_CLOEXEC)};
    if (!directory) throw_errno(errno, "list", path);
    for (const std::string& below : names_in(std::move(directory), path)) {
      remove_tree_at(passed.get(), below.c_str(), fmt::format("{}/{}", path, below));
    }
  }
  if (sys::unlinkat(dirfd, name, AT_REMOVEDIR) != 0 && errno != ENOENT) throw_errno(errno, "remove", path);
}

void make_missing_parents(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    if (sys::mkdirat(AT_FDCWD, prefix.c_str(), 0755) != 0 && errno != EEXIST) {
      // Automounters and read-only parents refuse before they look whether it is there.
      const int error = errno;
      struct stat st {};
      if (::stat(prefix.c_str(), &st) != 0 || !S_ISDIR(st.st_mode))
        throw_errno(error, "create the directory", prefix);
    }
    if (end == std::string::npos) return;
  }
}

// -1 and errno.
int open_chosen_directory(const std::string& path) {
  for (;;) {
    const int fd = ::open(path.c_str(), k_directory_flags | O_CLOEXEC);
    if (fd >= 0 || errno != EINTR) return fd;
  }
}

class FileSink final : public ByteSink {
 public:
  FileSink(int fd, const std::string& path) : fd_{fd}, path_{path} {}
  void write(Bytes bytes) override { sys::write_all(fd_, bytes, path_); }

 private:
  int fd_;
  const std::string& path_;
};

// Removes a file that never got its final name. Failing is fine: another error is on its way already.
class TempFile {
 public:
  TempFile(int dirfd, std::string name) : dirfd_{dirfd}, name_{std::move(name)} {}
  ~TempFile() {
    if (!kept_) sys::unlinkat(dirfd_, name_.c_str(), 0);
  }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const char* name() const { return name_.c_str(); }
  void keep() { kept_ = true; }

 private:
  int dirfd_;
  std::string name_;
  bool kept_ = false;
};

// fsync of directories is refused by some network and FUSE file systems, which leaves nothing to do.
bool sync_directory(int fd) {
  return sys::fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
}

}  // namespace

Stamp stamp_of(const EntryFacts& facts) {
  return {facts.dev, facts.ino, facts.size, facts.mtime_sec, facts.mtime_nsec};
}

EntryFacts facts_of(int fd) {
  return facts_of_named(fd, "an open file");
}

DirHandle DirHandle::open(const std::string& path, Missing missing) {
  Fd fd{open_chosen_directory(path)};
  if (!fd && errno == ENOENT && missing == Missing::create && !path.empty()) {
    make_missing_parents(path);
    fd = Fd{open_chosen_directory(path)};
  }
  if (!fd) throw_errno(errno, "open the directory", path);
  return {std::move(fd), path};
}

std::optional<DirHandle> DirHandle::open_if_there(const std::string& path) {
  Fd fd{open_chosen_directory(path)};
  if (fd) return DirHandle{std::move(fd), path};
  if (errno == ENOENT) return std::nullopt;
  throw_errno(errno, "open the directory", path);
}

std::string DirHandle::path_of(const RelPath& rel) const {
  if (rel.is_root()) return path_;
  return path_.ends_with('/') ? path_ + rel.str() : path_ + '/' + rel.str();
}

DirHandle DirHandle::duplicate() const {
  Fd fd{::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)};
  if (!fd) throw_errno(errno, "open the directory", path_);
  return {std::move(fd), path_};
}

DirHandle DirHandle::open_dir(const RelPath& rel) const {
  Fd fd{open_beneath(fd_.get(), rel, k_directory_flags)};
  if (!fd) throw_errno(errno, "open the directory", path_of(rel));
  return {std::move(fd), path_of(rel)};
}

std::optional<DirHandle> DirHandle::open_dir_if_there(const RelPath& rel) const {
  Fd fd{open_beneath(fd_.get(), rel, k_directory_flags)};
  if (fd) return DirHandle{std::move(fd), path_of(rel)};
  if (means_not_there(errno)) return std::nullopt;
  throw_errno(errno, "open the directory", path_of(rel));
}

DirHandle DirHandle::make_dirs(const RelPath& rel, mode_t mode) const {
  if (auto there = open_dir_if_there(rel)) return *std::move(there);
  Fd directory;
  std::string done;
  for (RelPath left = rel; !left.is_root(); left = left.rest()) {
    const std::string name{left.first()};
    const int flags = left.depth() == 1 ? k_directory_flags : k_only_to_pass;
    const int at = directory ? directory.get() : fd_.get();
    done += (done.empty() ? "" : "/") + name;
    const auto where = [&] { return path_of(RelPath::require(done, "directory")); };
    Fd next{::openat(at, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC)};
    // Whoever makes it first, both go on; several rounds only when somebody removes it again and again.
    for (int round = 0; !next && errno == ENOENT && round < 100; ++round) {
      if (sys::mkdirat(at, name.c_str(), mode) != 0 && errno != EEXIST) {
        throw_errno(errno, "create the directory", where());
      }
      next = Fd{::openat(at, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC)};
    }
    if (!next && (errno == ENOTDIR || errno == ELOOP)) {
      throw Error{Problem{.kind = ErrorKind::conflict,
                          .thing = "cannot create the directory " + escape_for_display(where()),
                          .expected = "a directory or nothing",
                          .found = "something else (a file or a symbolic link)",
                          .hint = "move away what is there, then run the same command again"}};
    }
    if (!next) throw_errno(errno, "open the directory", where());
    directory = std::move(next);
  }
  return {std::move(directory), path_of(rel)};
}

bool DirHandle::make_dir(const RelPath& rel, mode_t mode) const {
  if (rel.is_root()) return false;
  const Place place = place_of(fd_.get(), rel);
  if (place && sys::mkdirat(place.dirfd, place.name, mode) == 0) return true;
  if (place && errno == EEXIST) return false;
  throw_errno(errno, "create the directory", path_of(rel));
}

std::optional<EntryFacts> DirHandle::stat(const RelPath& rel) const {
  if (rel.is_root()) return facts_of_named(fd_.get(), path_);
  const Place place = place_of(fd_.get(), rel);
  if (place) return stat_at(place.dirfd, place.name, path_of(rel));
  if (means_not_there(errno)) return std::nullopt;
  throw_errno(errno, "examine", path_of(rel));
}

std::optional<Fd> DirHandle::open_file_if_there(const RelPath& rel, EntryFacts* facts) const {
  Fd fd{open_beneath(fd_.get(), rel, O_RDONLY | k_file_flags)};
  if (!fd) {
    if (means_not_there(errno) || errno == ENXIO) return std::nullopt;  // ENXIO: a socket
    throw_errno(errno, "open", path_of(rel));
  }
  const EntryFacts found = facts_of_named(fd.get(), path_of(rel));
  if (found.type != FileType::file) return std::nullopt;
  if (facts != nullptr) *facts = found;
  return fd;
}

Fd DirHandle::open_file(const RelPath& rel) const {
  if (auto fd = open_file_if_there(rel)) return *std::move(fd);
  const auto found = stat(rel);
  if (!found) throw_errno(ENOENT, "open", path_of(rel));
  throw Error{ErrorKind::disk,
              fmt::format("cannot open {}: it is no regular file", escape_for_display(path_of(rel))),
              "move away what is there, then run the same command again"};
}

std::optional<Fd> DirHandle::create_file(const RelPath& rel, mode_t mode) const {
  if (rel.is_root()) return std::nullopt;
  const Place place = place_of(fd_.get(), rel);
  if (place) {
    Fd fd{sys::open_create(place.dirfd, place.name, O_RDWR | O_EXCL | O_NOFOLLOW, mode)};
    if (fd) return fd;
    if (errno == EEXIST) return std::nullopt;
  }
  throw_errno(errno, "create", path_of(rel));
}

std::optional<Fd> DirHandle::open_for_update(const RelPath& rel) const {
  Fd fd{open_beneath(fd_.get(), rel, O_RDWR | k_file_flags)};
  if (!fd) {
    if (means_not_there(errno) || errno == ENXIO || errno == EISDIR) return std::nullopt;
    throw_errno(errno, "open for writing", path_of(rel));
  }
  if (facts_of_named(fd.get(), path_of(rel)).type != FileType::file) return std::nullopt;
  return fd;
}

std::optional<std::string> DirHandle::read_link(const RelPath& rel) const {
  if (rel.is_root()) return std::nullopt;
  const Place place = place_of(fd_.get(), rel);
  if (place) {
    std::string target(4096, '\0');  // PATH_MAX: Linux makes no longer ones
    const ssize_t size = ::readlinkat(place.dirfd, place.name, target.data(), target.size());
    if (size >= 0) {
      target.resize(static_cast<std::size_t>(size));
      return target;
    }
    if (errno == EINVAL) return std::nullopt;
  }
  if (means_not_there(errno)) return std::nullopt;
  throw_errno(errno, "read the link", path_of(rel));
}

std::vector<std::string> DirHandle::list() const {
  // Opened anew: a descriptor has one read position, which fdopendir would leave at the end.
  Fd again{::openat(fd_.get(), ".", k_directory_flags | O_CLOEXEC)};
  if (!again) throw_errno(errno, "list", path_);
  return names_in(std::move(again), path_);
}

void DirHandle::remove_file(const RelPath& rel) const {
  refuse_root(rel, "remove");
  const Place place = place_of(fd_.get(), rel);
  if (place && sys::unlinkat(place.dirfd, place.name, 0) == 0) return;
  if (errno == ENOENT || (!place && means_not_there(errno))) return;
  throw_errno(errno, "remove", path_of(rel));
}

void DirHandle::remove_dir(const RelPath& rel) const {
  refuse_root(rel, "remove");
  const Place place = place_of(fd_.get(), rel);
  if (place && sys::unlinkat(place.dirfd, place.name, AT_REMOVEDIR) == 0) return;
  if (errno == ENOENT || (!place && means_not_there(errno))) return;
  throw_errno(errno, "remove the directory", path_of(rel));
}

void DirHandle::remove_tree(const RelPath& rel) const {
  refuse_root(rel, "remove");
  const Place place = place_of(fd_.get(), rel);
  if (place) return remove_tree_at(place.dirfd, place.name, path_of(rel));
  if (!means_not_there(errno)) throw_errno(errno, "remove", path_of(rel));
}

void DirHandle::rename(const RelPath& from, const DirHandle& to_dir, const RelPath& to) const {
  refuse_root(from, "rename");
  refuse_root(to, "rename onto");
  const Place source = place_of(fd_.get(), from);
  if (!source) throw_errno(errno, "rename", path_of(from));
  const Place target = place_of(to_dir.fd(), to);
  if (target && sys::renameat(source.dirfd, source.name, target.dirfd, target.name) == 0) return;
  throw_errno(errno, fmt::format("rename {} to", escape_for_display(path_of(from))), to_dir.path_of(to));
}

bool DirHandle::rename_noreplace(const RelPath& from, const DirHandle& to_dir, const RelPath& to) const {
  refuse_root(from, "rename");
  refuse_root(to, "rename onto");
  const Place source = place_of(fd_.get(), from);
  if (!source) throw_errno(errno, "rename", path_of(from));
  const auto fail = [&](int error) {
    throw_errno(error, fmt::format("rename {} to", escape_for_display(path_of(from))), to_dir.path_of(to));
  };
  const Place target = place_of(to_dir.fd(), to);
  if (!target) fail(errno);
  if (sys::rename_noreplace(source.dirfd, source.name, target.dirfd, target.name) == 0) return true;
  if (errno == EEXIST) return false;
  if (errno != EINVAL && errno != ENOSYS) fail(errno);

  // linkat never replaces, on any file system; directories have no such call.
  const auto what = stat_at(source.dirfd, source.name, path_of(from));
  if (!what) fail(ENOENT);
  if (what->type == FileType::dir) fail(EINVAL);
  if (sys::linkat(source.dirfd, source.name, target.dirfd, target.name) != 0) {
    if (errno != EEXIST) fail(errno);
    // NFS says EEXIST for our own link when it repeats a request whose answer got lost.
    const auto taken = stat_at(target.dirfd, target.name, to_dir.path_of(to));
    if (!taken || taken->dev != what->dev || taken->ino != what->ino) return false;
  }
  if (sys::unlinkat(source.dirfd, source.name, 0) != 0 && errno != ENOENT) fail(errno);
  return true;
}

void DirHandle::sync() const {
  if (!sync_directory(fd_.get())) throw_errno(errno, "sync the directory", path_);
}

void DirHandle::sync_file_system() const {
  if (sys::syncfs(fd_.get()) != 0) throw_errno(errno, "sync the file system of", path_);
}

std::optional<std::string> DirHandle::read_small_file(const RelPath& rel, std::uint64_t limit) const {
  EntryFacts facts;
  const auto fd = open_file_if_there(rel, &facts);
  if (!fd) return std::nullopt;
  const auto refuse = [&] {
    throw Error{Problem{.kind = ErrorKind::state,
                        .thing = escape_for_display(path_of(rel)) + " is too large",
                        .expected = fmt::format("at most {} bytes", limit),
                        .found = fmt::format("{} bytes", facts_of_named(fd->get(), path_of(rel)).size),
                        .hint = "move it away, then run the same line again"}};
  };
  if (facts.size > limit) refuse();
  std::string content;
  // Asks for one byte more than the size tells: a file that grows, or one in /proc, is read to its end.
  for (std::size_t done = 0;;) {
    content.resize(std::max<std::size_t>(done + 4096, facts.size + 1));
    const ssize_t got = ::read(fd->get(), content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(errno, "read", path_of(rel));
    done += static_cast<std::size_t>(got);
    if (done > limit) refuse();
    if (got == 0) {
      content.resize(done);
      return content;
    }
  }
}

void DirHandle::write_file_atomically(const RelPath& rel, std::string_view content, mode_t mode) const {
  write_file_atomically(
      rel, [&](ByteSink& sink) { sink.write(as_bytes(content)); }, mode);
}

void DirHandle::write_file_atomically(const RelPath& rel, const std::function<void(ByteSink&)>& write,
                                      mode_t mode) const {
  refuse_root(rel, "write");
  const std::string path = path_of(rel);
  const Place place = place_of(fd_.get(), rel, k_directory_flags);  // not only to pass: it is synced
  if (!place) throw_errno(errno, "write", path);
  const std::string name = ".tmp-" + random_hex(8);
  Fd fd{sys::open_create(place.dirfd, name.c_str(), O_WRONLY | O_EXCL | O_NOFOLLOW, mode)};
  if (!fd) throw_errno(errno, "write", path);
  TempFile temp{place.dirfd, name};
  FileSink sink{fd.get(), path};
  write(sink);
  if (sys::fsync(fd.get()) != 0) throw_errno(errno, "sync", path);
  try {
    fd.close();
  } catch (Error& error) {
    error.add_context(escape_for_display(path));
    throw;
  }
  if (sys::renameat(place.dirfd, temp.name(), place.dirfd, place.name) != 0)
    throw_errno(errno, "write", path);
  temp.keep();
  if (!sync_directory(place.dirfd)) throw_errno(errno, "sync the directory of", path);
}

}  // namespace decant::fs
