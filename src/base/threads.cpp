// SPDX-License-Identifier: Apache-2.0
#include "decant/base/threads.hpp"

#include <system_error>
#include <utility>

namespace decant {

ThreadGroup::~ThreadGroup() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void ThreadGroup::start(std::function<void()> work, std::function<void()> on_failure) {
  threads_.emplace_back([this, work = std::move(work), on_failure = std::move(on_failure)] {
    try {
      work();
    } catch (...) {
      {
        const std::lock_guard lock{mutex_};
        if (!first_) first_ = std::current_exception();
      }
      if (on_failure) on_failure();
    }
  });
}

bool ThreadGroup::try_start(std::function<void()> work, std::function<void()> on_failure) {
  try {
    start(std::move(work), std::move(on_failure));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

bool ThreadGroup::failed() const {
  const std::lock_guard lock{mutex_};
  return first_ != nullptr;
}

void ThreadGroup::wait() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  threads_.clear();
  if (auto first = std::exchange(first_, nullptr)) std::rethrow_exception(first);
}

}  // namespace decant
