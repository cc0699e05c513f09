// SPDX-License-Identifier: Apache-2.0
#include "decant/base/error.hpp"

#include <cerrno>
#include <vector>

#include "decant/base/c_handle.hpp"
#include "support/catch.hpp"

namespace {

using decant::Error;
using decant::ErrorKind;

Error error_for(int errno_value, std::string_view path = "/data/a") {
  try {
    decant::throw_errno(errno_value, "write", path);
  } catch (const Error& error) {
    return error;
  }
}

TEST_CASE("every kind has its exit code and name") {
  struct Row {
    ErrorKind kind;
    int code;
    const char* name;
  };
  const std::vector<Row> rows{
      {ErrorKind::differences, 1, "differences"},
      {ErrorKind::usage, 2, "usage"},
      {ErrorKind::incomplete, 3, "incomplete"},
      {ErrorKind::network, 4, "network"},
      {ErrorKind::access, 5, "access"},
      {ErrorKind::disk, 6, "disk"},
      {ErrorKind::conflict, 7, "conflict"},
      {ErrorKind::integrity, 8, "integrity"},
      {ErrorKind::busy, 9, "busy"},
      {ErrorKind::state, 10, "state"},
      {ErrorKind::signature, 11, "signature"},
      {ErrorKind::bug, 70, "bug"},
  };
  for (const Row& row : rows) {
    CHECK(decant::exit_code(row.kind) == row.code);
    CHECK(decant::to_string(row.kind) == row.name);
  }
}

TEST_CASE("the worse exit code wins, whatever the order of the two") {
  const std::vector<int> from_worst{70, 2, 143, 11, 10, 8, 7, 6, 5, 4, 9, 1, 3, 0};
  for (std::size_t i = 0; i < from_worst.size(); ++i) {
    for (std::size_t j = i; j < from_worst.size(); ++j) {
      CHECK(decant::worse_exit_code(from_worst[i], from_worst[j]) == from_worst[i]);
      CHECK(decant::worse_exit_code(from_worst[j], from_worst[i]) == from_worst[i]);
    }
  }
  CHECK(decant::worse_exit_code(0, 42) == 42);  // a code that is not ours is never taken for success
}

TEST_CASE("a problem says the same in one line and in several") {
  const decant::Problem problem{.kind = ErrorKind::integrity,
                                .thing = "part 003: SHA-256 differs",
                                .expected = "1f2e",
                                .found = "9ab0",
                                .hint = "run restore again"};
  CHECK(decant::to_line(problem) ==
        "part 003: SHA-256 differs (expected 1f2e, found 9ab0); run restore again");
  CHECK(decant::to_text(problem) ==
        "part 003: SHA-256 differs\n  expected: 1f2e\n  found:    9ab0\n  next:     run restore again");
  CHECK(decant::to_line({.thing = "a", .expected = "b"}) == "a (expected b)");
  CHECK(decant::to_line({.thing = "a", .found = "c"}) == "a (found c)");
  CHECK(decant::to_text({.thing = "a"}) == "a");
}

TEST_CASE("context goes in front and the kind stays") {
  Error error{ErrorKind::network, "timed out", "try again"};
  error.add_context("part 001");
  CHECK(error.kind() == ErrorKind::network);
  CHECK(std::string{error.what()} == "part 001: timed out; try again");
}

TEST_CASE("a failed system call is told in words with a hint") {
  CHECK_THAT(error_for(ENOSPC).problem().thing, Catch::Contains("cannot write /data/a: no space"));
  CHECK_THAT(error_for(EDQUOT).problem().thing, Catch::Contains("quota"));
  CHECK_THAT(error_for(EACCES).problem().thing, Catch::Contains("permission denied"));
  CHECK_THAT(error_for(EROFS).problem().thing, Catch::Contains("read-only"));
  for (const int number :
       {ENOSPC, EDQUOT, EACCES, EPERM, EROFS, EIO, EMFILE, ENAMETOOLONG, ELOOP, ENOENT, EXDEV}) {
    CHECK(error_for(number).kind() == ErrorKind::disk);
    CHECK_FALSE(error_for(number).problem().hint.empty());
  }
  CHECK_THAT(error_for(ENODATA).problem().thing, Catch::Contains("No data"));
}

TEST_CASE("a hostile path cannot reach the terminal") {
  CHECK(error_for(EIO, "a\x1b[2J\nb").problem().thing == "cannot write a\\x1b[2J\\x0ab: input/output error");
}

int g_freed = 0;
void free_int(const int* value) {
  ++g_freed;
  delete value;
}

TEST_CASE("a C handle frees once and refuses nothing") {
  using Handle = decant::CHandle<free_int>;
  g_freed = 0;
  {
    Handle first{new int{4}, "make"};
    const Handle second{std::move(first)};
    CHECK(*second.get() == 4);
  }
  CHECK(g_freed == 1);
  CHECK_THROWS_WITH((Handle{nullptr, "make"}), "make gave no object");
}

TEST_CASE("a callback guard keeps the first exception until the C call returned") {
  decant::CallbackGuard guard;
  CHECK(guard.run(-1, [] { return 3; }) == 3);
  guard.rethrow_if_any();
  CHECK(guard.run(-1, []() -> int { throw Error{ErrorKind::disk, "first"}; }) == -1);
  CHECK(guard.run(-1, []() -> int { throw Error{ErrorKind::disk, "second"}; }) == -1);
  CHECK_THROWS_WITH(guard.rethrow_if_any(), "first");
  guard.rethrow_if_any();
}

}  // namespace
