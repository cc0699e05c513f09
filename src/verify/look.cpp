// SPDX-License-Identifier: Apache-2.0
#include "look.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "decant/base/bytes.hpp"
#include "decant/base/text.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::verify {
namespace {

using report::FindingKind;

std::string_view type_words(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "a file";
    case S_IFDIR:
      return "a directory";
    case S_IFLNK:
      return "a symbolic link";
    case S_IFIFO:
      return "a pipe";
    case S_IFSOCK:
      return "a socket";
    default:
      return "a device";
  }
}

mode_t mode_of(ExpectedType type) {
  if (type == ExpectedType::dir) return S_IFDIR;
  return type == ExpectedType::symlink ? S_IFLNK : S_IFREG;
}

std::string byte_words(std::uint64_t count) {
  return counted(count, "byte", "bytes");
}

std::optional<std::string> link_target(int dirfd, const char* name) {
  std::string target(4096, '\0');
  const ssize_t size = ::readlinkat(dirfd, name, target.data(), target.size());
  if (size < 0) return std::nullopt;
  target.resize(static_cast<std::size_t>(size));
  return target;
}

// Judges the entries of one directory.
class Look {
 public:
  Look(Sheet& sheet, const fs::DirHandle& dir, Ledger& ledger) : sheet_{sheet}, dir_{dir}, ledger_{ledger} {}

  void at(std::size_t i) {
    const Expected& entry = sheet_.entries()[i];
    const char* const name = entry.path.name().data();  // the end of a string, so it is terminated
    struct stat st {};
    if (::fstatat(dir_.fd(), name, &st, AT_SYMLINK_NOFOLLOW) != 0) return failed(i, errno);
    const bool follows = sheet_.tree().external && entry.type == ExpectedType::file && S_ISLNK(st.st_mode);
    if (follows && ::fstatat(dir_.fd(), name, &st, 0) != 0) return dangling(i, name, errno);
    if ((st.st_mode & S_IFMT) != mode_of(entry.type)) return wrong_type(i, name, st);
    if (entry.type == ExpectedType::dir) return sheet_.set(i, Seen::as_expected);
    if (entry.type == ExpectedType::symlink) return link(i, name);
    file(i, name, st);
  }

 private:
  void add(FindingKind kind, std::size_t i, std::string expected, std::string found, std::string note = {}) {
    report::Finding finding = sheet_.finding(kind, sheet_.entries()[i]);
    finding.expected = std::move(expected);
    finding.found = std::move(found);
    finding.note = std::move(note);
    ledger_.add(std::move(finding));
  }

  void failed(std::size_t i, int error) {
    if (error != ENOENT && error != ENOTDIR) return add(FindingKind::unreadable, i, {}, errno_words(error));
    sheet_.set(i, Seen::missing);
    if (!sheet_.entries()[i].optional) add(FindingKind::missing, i, {}, {});
  }

  void dangling(std::size_t i, const char* name, int error) {
    if (error != ENOENT && error != ENOTDIR && error != ELOOP) {
      return add(FindingKind::unreadable, i, {}, errno_words(error));
    }
    sheet_.set(i, Seen::missing);
    add(FindingKind::missing, i, {},
        "a link that leads nowhere: " + link_target(dir_.fd(), name).value_or("?"));
  }

  void wrong_type(std::size_t i, const char* name, const struct stat& st) {
    Observed observed{.executable = (st.st_mode & S_IXUSR) != 0, .hex = "size-only"};
    if (S_ISDIR(st.st_mode)) {
      observed.type = ExpectedType::dir;
    } else if (S_ISLNK(st.st_mode)) {
      observed.type = ExpectedType::symlink;
      observed.hex = hash::sha256(link_target(dir_.fd(), name).value_or("")).hex();
    } else if (S_ISREG(st.st_mode)) {
      observed.size = static_cast<std::uint64_t>(st.st_size);
    } else {
      observed.missing = true;  // nothing that a line could tell
    }
    sheet_.set_odd(i, Seen::other, std::move(observed));
    add(FindingKind::wrong_type, i, std::string{type_words(mode_of(sheet_.entries()[i].type))},
        std::string{type_words(st.st_mode)});
  }

  void link(std::size_t i, const char* name) {
    const Expected& entry = sheet_.entries()[i];
    const auto target = link_target(dir_.fd(), name);
    if (!target) return failed(i, errno);
    if (*target == entry.target) return sheet_.set(i, Seen::as_expected);
    sheet_.set_odd(i, Seen::other, {.type = ExpectedType::symlink, .hex = hash::sha256(*target).hex()});
    add(FindingKind::link_target, i, "-> " + entry.target, "-> " + *target);
  }

  void file(std::size_t i, const char* name, const struct stat& st) {
    const Expected& entry = sheet_.entries()[i];
    const bool executable = (st.st_mode & S_IXUSR) != 0;
    const auto size = static_cast<std::uint64_t>(st.st_size);
    const bool states_size = entry.states_size && (entry.digest.valid() || entry.size > 0);
    const bool size_fits = !states_size || size == entry.size;
    if (executable != entry.executable && entry.check_mode) {
      add(FindingKind::mode, i, entry.executable ? "executable by its owner" : "not executable",
          executable ? "executable by its owner" : "not executable");
    }
    if (!size_fits) {
      add(size < entry.size ? FindingKind::truncated : FindingKind::longer, i, byte_words(entry.size),
          byte_words(size), name_impostor(dir_.fd(), name, entry));
    }
    const Seen seen = !size_fits ? Seen::other : sheet_.wants_hash(entry) ? Seen::to_read : Seen::size_only;
    if (executable == entry.executable && size == entry.size) return sheet_.set(i, seen);
    sheet_.set_odd(i, seen, {.executable = executable, .size = size, .hex = "size-only"});
  }

  Sheet& sheet_;
  const fs::DirHandle& dir_;
  Ledger& ledger_;
};

}  // namespace

std::string errno_words(int error) {
  return std::generic_category().message(error);
}

std::string name_impostor(int dirfd, const char* name, const Expected& entry) {
  const Fd fd{::openat(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (!fd) return {};
  std::array<char, 512> buffer{};
  const ssize_t size = ::pread(fd.get(), buffer.data(), buffer.size(), 0);
  if (size < 0) return {};
  if (size == 0) return "the file is empty";
  const std::string_view head{buffer.data(), static_cast<std::size_t>(size)};
  constexpr std::string_view k_pointer = "version https://git-lfs.github.com/spec/";
  if (head.starts_with(k_pointer)) {
    constexpr std::string_view k_oid = "oid sha256:";
    const std::size_t at = head.find(k_oid);
    const bool is_ours = entry.digest.valid() && at != std::string_view::npos &&
                         head.substr(at + k_oid.size()).starts_with(entry.digest.hex());
    return fmt::format("a git-lfs pointer stands in its place; its oid is {} expected digest",
                       is_ours ? "the" : "not the");
  }
  const std::string_view start = trim(head);
  if (starts_with_ci(start, "<!doctype html") || starts_with_ci(start, "<html")) {
    return "an HTML page stands in its place";
  }
  return {};
}

void look_at(Sheet& sheet, std::size_t begin, std::size_t end, Ledger& ledger, const Stop& stop) {
  if (sheet.top() == nullptr) return;
  const fs::RelPath parent = sheet.entries()[begin].path.parent();
  std::optional<fs::DirHandle> dir;
  try {
    dir = parent.is_root() ? sheet.top()->duplicate() : sheet.top()->open_dir_if_there(parent);
  } catch (const Error& failure) {
    report::Finding finding = sheet.finding(FindingKind::unreadable, sheet.entries()[begin]);
    finding.path = parent.str();
    finding.found = failure.problem().thing;
    finding.note = "the expected entries in it could not be looked at";
    return ledger.add(std::move(finding));
  }
  for (std::size_t i = begin; i < end; ++i) {
    stop.throw_if_requested();
    if (sheet.is_shared(i)) continue;
    if (dir) {
      Look{sheet, *dir, ledger}.at(i);
    } else {
      sheet.set(i, Seen::missing);
      const Expected& entry = sheet.entries()[i];
      if (!entry.optional) ledger.add(sheet.finding(FindingKind::missing, entry));
    }
    sheet.counters->entries_done.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace decant::verify
