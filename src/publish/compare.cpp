// SPDX-License-Identifier: Apache-2.0
#include "compare.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::publish {
namespace {

// nullopt when the file has not that many bytes (any more).
std::optional<hash::Digest> digest_of(int fd, std::uint64_t size, hash::Algorithm algorithm,
                                      const std::string& path, const Stop& stop) {
  try {
    return hash::hash_file(fd, size, algorithm, path, stop);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::integrity) return std::nullopt;
    throw;
  }
}

std::string file_words(std::uint64_t size, const std::string& digest, bool executable) {
  return fmt::format("file of {} bytes{}{}", size, digest.empty() ? "" : ", SHA-256 " + digest,
                     executable ? ", executable" : "");
}

std::optional<std::string> file_difference(const fs::DirHandle& dir, const fs::RelPath& name,
                                           const fs::EntryFacts& facts, const model::IndexEntry& entry,
                                           const Stop& stop) {
  if (facts.size != entry.size) return describe(dir, name, facts);
  fs::EntryFacts opened;
  const auto fd = dir.open_file_if_there(name, &opened);
  if (!fd) return "something that changes while it is looked at";
  const auto digest = digest_of(fd->get(), entry.size, entry.sha256.algorithm(), dir.path_of(name), stop);
  if (!digest) return "a file that changes while it is read";
  if (*digest != entry.sha256) return file_words(entry.size, digest->hex(), opened.owner_executable());
  if (opened.owner_executable() != entry.executable) {
    return entry.executable ? "same content, not executable" : "same content, executable";
  }
  return std::nullopt;
}

}  // namespace

std::string describe(const model::IndexEntry& entry) {
  switch (entry.type) {
    case model::EntryType::file:
      return file_words(entry.size, entry.sha256.hex(), entry.executable);
    case model::EntryType::symlink:
      return "symbolic link to " + escape_for_display(entry.target);
    case model::EntryType::dir:
      break;
  }
  return "directory";
}

std::string describe(const fs::DirHandle& dir, const fs::RelPath& name, const fs::EntryFacts& facts) {
  switch (facts.type) {
    case fs::FileType::file:
      return file_words(facts.size, {}, facts.owner_executable());
    case fs::FileType::dir:
      return "directory";
    case fs::FileType::symlink:
      return "symbolic link to " + escape_for_display(dir.read_link(name).value_or("?"));
    case fs::FileType::other:
      break;
  }
  return "no file, directory or link (a device, pipe or socket)";
}

fs::FileType type_of(const model::IndexEntry& entry) {
  if (entry.type == model::EntryType::file) return fs::FileType::file;
  return entry.type == model::EntryType::dir ? fs::FileType::dir : fs::FileType::symlink;
}

std::optional<std::string> difference(const fs::DirHandle& dir, const fs::RelPath& name,
                                      const fs::EntryFacts& facts, const model::IndexEntry& entry,
                                      const Stop& stop) {
  if (facts.type != type_of(entry)) return describe(dir, name, facts);
  if (entry.type == model::EntryType::dir) return std::nullopt;
  if (entry.type == model::EntryType::file) return file_difference(dir, name, facts, entry, stop);
  if (dir.read_link(name) == entry.target) return std::nullopt;
  return describe(dir, name, facts);
}

bool is_open_to_all(const fs::DirHandle& dir) {
  return (fs::facts_of(dir.fd()).mode & 0002) != 0;
}

std::optional<std::string> distrust(const fs::EntryFacts& facts) {
  if (facts.uid != 0 && facts.uid != ::geteuid()) {
    return fmt::format("owned by user {}, in a directory that everybody may write into", facts.uid);
  }
  if (facts.type != fs::FileType::symlink && (facts.mode & 0022) != 0) {
    return fmt::format("of mode {:04o}, so others may change it", facts.mode);
  }
  return std::nullopt;
}

}  // namespace decant::publish
