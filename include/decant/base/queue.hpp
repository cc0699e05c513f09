// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace decant {

// A bounded queue between threads. After close(), push() returns false and pop() drains what is left, then
// nullopt.
template <class T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t limit) : limit_{limit} {}

  bool push(T item) {
    std::unique_lock lock{mutex_};
    not_full_.wait(lock, [&] { return closed_ || items_.size() < limit_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    not_empty_.notify_one();
    return true;
  }

  std::optional<T> pop() {
    std::unique_lock lock{mutex_};
    not_empty_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item{std::move(items_.front())};
    items_.pop_front();
    not_full_.notify_one();
    return item;
  }

  void close() {
    std::lock_guard lock{mutex_};
    closed_ = true;
    not_empty_.notify_all();
    not_full_.notify_all();
  }

  std::size_t size() const {
    std::lock_guard lock{mutex_};
    return items_.size();
  }

 private:
  const std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable not_empty_;
  std::condition_variable not_full_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace decant
