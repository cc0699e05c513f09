// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace decant {

// What went wrong, chosen by what the user would do next. Each kind is one exit code (docs/exit_codes.md).
enum class ErrorKind {
  differences,  // verification found differences
  usage,        // the command line or its environment is wrong
  incomplete,   // what was asked for is not finished yet
  network,      // unreachable, or no byte for too long, after all retries
  access,       // token, gate, repo, revision or file
  disk,         // space, inodes, quota, permission, read-only, I/O
  conflict,     // content that is already there
  integrity,    // bytes or archive do not match what the release says
  busy,         // another process works on this bundle
  state,        // lock, manifest or state invalid, too new, or for something else
  signature,    // signature missing or wrong
  bug,          // an invariant of decant itself is broken
};

// Process exit status of a failure of this kind.
int exit_code(ErrorKind kind) noexcept;

// The machine-readable name used in JSON, for instance "integrity".
std::string_view to_string(ErrorKind kind) noexcept;

// The more important of two exit statuses, by the order of docs/exit_codes.md
// (70, signals, 11, 10, 8, 7, 6, 5, 4, 9, 1, 3; anything beats 0; 2 beats all but 70).
int worse_exit_code(int a, int b) noexcept;

// One thing that failed, as a value: in four parts, so that text and JSON say the same.
struct Problem {
  ErrorKind kind = ErrorKind::bug;
  std::string thing;  // what failed, on what; one clause without a full stop; already escaped for terminals
  std::string expected;  // empty when there is nothing to compare
  std::string found;
  std::string hint;  // what to do next; names only commands and flags that exist
};

// Several lines: "thing", then "  expected: …", "  found:    …", "  next:     …" for the parts that are set.
std::string to_text(const Problem& problem);

// One line: `thing (expected …, found …); hint`.
std::string to_line(const Problem& problem);

// A failure: this piece of work cannot go on. Outcomes that a caller branches on are values instead.
class Error : public std::exception {
 public:
  explicit Error(Problem problem);
  Error(ErrorKind kind, std::string thing, std::string hint = {});

  const Problem& problem() const noexcept { return problem_; }
  ErrorKind kind() const noexcept { return problem_.kind; }
  const char* what() const noexcept override { return line_.c_str(); }

  // Puts "context: " before the thing; the kind stays.
  void add_context(std::string_view context);

 private:
  Problem problem_;
  std::string line_;
};

// Throws Error of kind disk for `errno_value`: "cannot DOING PATH: words", so `doing` is a verb ("open",
// "rename"). ENOSPC, EDQUOT, EACCES, EROFS … each get their own words and hint. `path` may hold any bytes: it
// is escaped here.
[[noreturn]] void throw_errno(int errno_value, std::string_view doing, std::string_view path);

// Stopped by a signal. Not an Error, so that no handler swallows Ctrl-C.
struct Interrupted {
  int signal = 0;
};

}  // namespace decant
