// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string_view>

#include "decant/base/error.hpp"
#include "decant/fs/sys.hpp"

// The kill sweep and the fault sweep: work is stopped, or one call of it fails, at the k-th mutating system
// call.
namespace decant::test {

// A sweep syncs hundreds of times, and each time waits for whatever else the machine writes: temporary
// directories then go to memory, unless TMPDIR says where they shall be.
inline void sweep_in_memory() {
  constexpr const char* k_memory = "/dev/shm";
  if (::access(k_memory, W_OK | X_OK) == 0) ::setenv("TMPDIR", k_memory, 0);
}

// Runs `work` in a forked child that ends without any cleanup just before its k-th mutating call. False when
// the work was done before it got there. `other` may say of each call by name that it fails, always.
inline bool killed_at_call(unsigned long k, const std::function<void()>& work,
                           const std::function<int(std::string_view call)>& other = {}) {
  constexpr int k_killed = 77;
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error{"cannot fork"};
  if (child == 0) {
    try {
      const fs::sys::ScopedHook hook{[&](std::string_view call, unsigned long number) {
        if (number == k) ::_exit(k_killed);
        return other ? other(call) : 0;
      }};
      work();
      ::_exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    } catch (...) {
    }
    ::_exit(99);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status))
    throw std::runtime_error{"the child crashed"};
  if (WEXITSTATUS(status) == k_killed) return true;
  if (WEXITSTATUS(status) != 0) throw std::runtime_error{"the work failed in the child"};
  return false;
}

// Runs `work` with its k-th mutating call failing with `error`, once. False when there is no such call. The
// Error that came of it, if any, goes to `check`.
inline bool failed_at_call(unsigned long k, int error, const std::function<void()>& work,
                           const std::function<void(const Error&)>& check) {
  bool reached = false;
  const fs::sys::ScopedHook hook{[&](std::string_view /*call*/, unsigned long number) {
    if (number != k) return 0;
    reached = true;
    return error;
  }};
  try {
    work();
  } catch (const Error& thrown) {
    check(thrown);
  }
  return reached;
}

}  // namespace decant::test
