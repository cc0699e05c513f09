// SPDX-License-Identifier: Apache-2.0
#include "decant/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

#include "decant/base/text.hpp"

namespace decant {
namespace {

// From the most important on; everything above 128 is "stopped by a signal".
int importance(int code) noexcept {
  if (code > 128) return 100;
  switch (code) {
    case 70:
      return 103;
    case 2:
      return 101;
    case 11:
      return 11;
    case 10:
      return 10;
    case 8:
      return 9;
    case 7:
      return 8;
    case 6:
      return 7;
    case 5:
      return 6;
    case 4:
      return 5;
    case 9:
      return 4;
    case 1:
      return 3;
    case 3:
      return 2;
    case 0:
      return 0;
    default:
      return 102;  // no code of ours: nearly as bad as a bug
  }
}

struct ErrnoWords {
  int number;
  std::string_view words;
  std::string_view hint;
};

constexpr std::string_view k_hint_permission =
    "check the owner and mode of this path and of its parents, or run as the user who owns them";

constexpr std::array k_errno_words{
    ErrnoWords{ENOSPC, "no space or no inodes left on the file system",
               "free space or inodes there (df -h and df -i tell which), then run the same command again"},
    ErrnoWords{EDQUOT, "disk quota exceeded",
               "remove files or have the quota raised (bytes and files both count), then run the same "
               "command again"},
    ErrnoWords{EACCES, "permission denied", k_hint_permission},
    ErrnoWords{
        EPERM, "operation not permitted",
        "check the owner of this path and whether it is immutable (lsattr), or run as the user who owns it"},
    ErrnoWords{EROFS, "the file system is mounted read-only",
               "choose a path on a writable file system, or remount this one"},
    ErrnoWords{
        EIO, "input/output error",
        "the device or the network file system failed: look at dmesg, then run the same command again"},
    ErrnoWords{EMFILE, "too many open files in this process", "raise the limit (ulimit -n), then run again"},
    ErrnoWords{ENFILE, "too many open files on this machine", "close other programs or raise fs.file-max"},
    ErrnoWords{ENAMETOOLONG, "the path or a name in it is too long for the file system",
               "choose a shorter directory or another file system"},
    ErrnoWords{
        ELOOP, "a symbolic link is in the way",
        "links are not followed here: replace the link by a real directory or file, or name its target"},
    ErrnoWords{ENOENT, "no such file or directory", "check the path, and that nothing removed it meanwhile"},
    ErrnoWords{ENOTDIR, "a part of the path is not a directory",
               "move away what is in its place, or choose another"},
    ErrnoWords{EISDIR, "it is a directory", "move it away, or choose another path"},
    ErrnoWords{EEXIST, "the name is already taken", "move away what is there, or choose another path"},
    ErrnoWords{ENOTEMPTY, "the directory is not empty", "something else writes there: see what is in it"},
    ErrnoWords{EXDEV, "source and target are on different file systems", "put both on the same file system"},
    ErrnoWords{EFBIG, "the file would be too large for the file system or the file size limit",
               "use another file system, or raise the limit (ulimit -f)"},
    ErrnoWords{EMLINK, "too many links to one file", "use another file system"},
    ErrnoWords{ESTALE, "the network file system lost the file", "run the same command again"},
    ErrnoWords{ETXTBSY, "the file is being executed", "end the program that runs it, then run again"},
    ErrnoWords{EBUSY, "the file or directory is in use",
               "see what uses it (mount points count), then run again"},
    ErrnoWords{EINVAL, "the file system does not support this operation (EINVAL)", "use another file system"},
    ErrnoWords{EOPNOTSUPP, "the file system does not support this operation", "use another file system"},
    ErrnoWords{ENOMEM, "out of memory", "free memory, then run the same command again"},
};

}  // namespace

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::differences:
      return 1;
    case ErrorKind::usage:
      return 2;
    case ErrorKind::incomplete:
      return 3;
    case ErrorKind::network:
      return 4;
    case ErrorKind::access:
      return 5;
    case ErrorKind::disk:
      return 6;
    case ErrorKind::conflict:
      return 7;
    case ErrorKind::integrity:
      return 8;
    case ErrorKind::busy:
      return 9;
    case ErrorKind::state:
      return 10;
    case ErrorKind::signature:
      return 11;
    case ErrorKind::bug:
      break;
  }
  return 70;
}

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::differences:
      return "differences";
    case ErrorKind::usage:
      return "usage";
    case ErrorKind::incomplete:
      return "incomplete";
    case ErrorKind::network:
      return "network";
    case ErrorKind::access:
      return "access";
    case ErrorKind::disk:
      return "disk";
    case ErrorKind::conflict:
      return "conflict";
    case ErrorKind::integrity:
      return "integrity";
    case ErrorKind::busy:
      return "busy";
    case ErrorKind::state:
      return "state";
    case ErrorKind::signature:
      return "signature";
    case ErrorKind::bug:
      break;
  }
  return "bug";
}

int worse_exit_code(int a, int b) noexcept {
  return importance(b) > importance(a) ? b : a;
}

std::string to_text(const Problem& problem) {
  std::string text = problem.thing;
  if (!problem.expected.empty()) text += "\n  expected: " + problem.expected;
  if (!problem.found.empty()) text += "\n  found:    " + problem.found;
  if (!problem.hint.empty()) text += "\n  next:     " + problem.hint;
  return text;
}

std::string to_line(const Problem& problem) {
  std::string line = problem.thing;
  if (!problem.expected.empty() && !problem.found.empty()) {
    line += fmt::format(" (expected {}, found {})", problem.expected, problem.found);
  } else if (!problem.expected.empty()) {
    line += fmt::format(" (expected {})", problem.expected);
  } else if (!problem.found.empty()) {
    line += fmt::format(" (found {})", problem.found);
  }
  if (!problem.hint.empty()) line += "; " + problem.hint;
  return line;
}

Error::Error(Problem problem) : problem_{std::move(problem)}, line_{to_line(problem_)} {}

Error::Error(ErrorKind kind, std::string thing, std::string hint)
    : Error{Problem{.kind = kind, .thing = std::move(thing), .hint = std::move(hint)}} {}

void Error::add_context(std::string_view context) {
  problem_.thing = fmt::format("{}: {}", context, problem_.thing);
  line_ = to_line(problem_);
}

void throw_errno(int errno_value, std::string_view doing, std::string_view path) {
  const std::string what = fmt::format("cannot {} {}", doing, escape_for_display(path));
  const auto* known = std::find_if(k_errno_words.begin(), k_errno_words.end(),
                                   [&](const ErrnoWords& words) { return words.number == errno_value; });
  if (known == k_errno_words.end()) {
    throw Error{ErrorKind::disk, fmt::format("{}: {}", what, std::generic_category().message(errno_value))};
  }
  throw Error{ErrorKind::disk, fmt::format("{}: {}", what, known->words), std::string{known->hint}};
}

}  // namespace decant
