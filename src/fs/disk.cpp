// SPDX-License-Identifier: Apache-2.0
#include "decant/fs/disk.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "decant/base/error.hpp"

namespace decant::fs {
namespace {

struct KnownType {
  std::uint32_t magic;
  std::string_view name;
};

// From linux/magic.h and, for those outside the kernel tree, from their own sources.
constexpr std::array k_known_types{
    KnownType{0xEF53, "ext4"},         KnownType{0x58465342, "xfs"},      KnownType{0x9123683E, "btrfs"},
    KnownType{0x01021994, "tmpfs"},    KnownType{0x858458F6, "ramfs"},    KnownType{0x794C7630, "overlay"},
    KnownType{0x6969, "nfs"},          KnownType{0xFF534D42, "cifs"},     KnownType{0xFE534D42, "smb2"},
    KnownType{0x65735546, "fuse"},     KnownType{0x00C36400, "ceph"},     KnownType{0x0BD00BD0, "lustre"},
    KnownType{0x47504653, "gpfs"},     KnownType{0x19830326, "beegfs"},   KnownType{0x2FC12FC1, "zfs"},
    KnownType{0xF2F52010, "f2fs"},     KnownType{0x4D44, "vfat"},         KnownType{0x2011BAB0, "exfat"},
    KnownType{0x5346544E, "ntfs"},     KnownType{0x7366746E, "ntfs3"},    KnownType{0x01021997, "9p"},
    KnownType{0x73717368, "squashfs"}, KnownType{0xE0F5E1E2, "erofs"},    KnownType{0x9660, "iso9660"},
    KnownType{0x5346414F, "afs"},      KnownType{0xCA451A4E, "bcachefs"}, KnownType{0x3153464A, "jfs"},
};

std::string type_name(std::uint32_t magic) {
  const auto* known = std::find_if(k_known_types.begin(), k_known_types.end(),
                                   [&](const KnownType& type) { return type.magic == magic; });
  return known == k_known_types.end() ? fmt::format("{:#x}", magic) : std::string{known->name};
}

std::string parent_of(std::string path) {
  const std::size_t name = path.rfind('/');
  if (name == std::string::npos) return ".";
  path.resize(name);
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.empty() ? "/" : path;
}

// The nearest directory on the way up from `path`; a file or a dangling link on the way is an error, as
// nothing can be made below it.
std::string nearest_directory(const std::string& path, struct stat& st) {
  std::string at = path.empty() ? "." : path;
  while (at.size() > 1 && at.back() == '/') at.pop_back();
  while (::stat(at.c_str(), &st) != 0) {
    struct stat link {};
    if (errno != ENOENT || at == "." || at == "/") throw_errno(errno, "examine", at);
    if (::lstat(at.c_str(), &link) == 0) throw_errno(ENOENT, "follow the link", at);
    at = parent_of(at);
  }
  if (!S_ISDIR(st.st_mode)) throw_errno(ENOTDIR, "use", at);
  return at;
}

}  // namespace

DiskFacts disk_facts(const std::string& path) {
  struct stat st {};
  DiskFacts facts;
  facts.path = nearest_directory(path, st);
  facts.device = st.st_dev;
  struct statvfs space {};
  struct statfs kind {};
  if (::statvfs(facts.path.c_str(), &space) != 0)
    throw_errno(errno, "examine the file system of", facts.path);
  if (::statfs(facts.path.c_str(), &kind) != 0) throw_errno(errno, "examine the file system of", facts.path);
  facts.free_bytes = space.f_bavail * space.f_frsize;
  facts.total_bytes = space.f_blocks * space.f_frsize;
  facts.counts_inodes = space.f_files != 0;
  facts.free_inodes = space.f_favail;
  facts.type = type_name(static_cast<std::uint32_t>(kind.f_type));
  facts.is_memory = facts.type == "tmpfs" || facts.type == "ramfs";
  facts.writable = (space.f_flag & ST_RDONLY) == 0 &&
                   ::faccessat(AT_FDCWD, facts.path.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
  return facts;
}

}  // namespace decant::fs
