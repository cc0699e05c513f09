// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace decant::fs {

// One file system as statvfs and statfs tell it.
struct DiskFacts {
  std::uint64_t device = 0;      // st_dev: equal for paths that share it
  std::string path;              // the nearest existing directory that was asked
  std::uint64_t free_bytes = 0;  // for this user
  std::uint64_t total_bytes = 0;
  std::uint64_t free_inodes = 0;
  bool counts_inodes = true;  // false for file systems that report none (btrfs, some network ones)
  std::string type;           // "ext4", "tmpfs", "nfs", or the magic in hex
  bool is_memory = false;     // tmpfs, ramfs
  bool writable = true;       // mounted read-write and the nearest directory lets this user create entries
};

// Facts for `path`, which need not exist: its nearest existing parent is asked. Writes nothing.
// Throws Error{disk} when a component is a file or cannot be searched.
DiskFacts disk_facts(const std::string& path);

}  // namespace decant::fs
