// SPDX-License-Identifier: Apache-2.0
#include "decant/base/budget.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace decant {

ByteBudget::Lease::Lease(Lease&& other) noexcept
    : budget_{std::exchange(other.budget_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}

ByteBudget::Lease& ByteBudget::Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    give_back();
    budget_ = std::exchange(other.budget_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void ByteBudget::Lease::give_back() noexcept {
  if (budget_ == nullptr) return;
  {
    const std::lock_guard lock{budget_->mutex_};
    budget_->used_ -= bytes_;
    // Under the lock: the budget may be gone as soon as a waiter saw it empty.
    budget_->changed_.notify_all();
  }
  budget_ = nullptr;
  bytes_ = 0;
}

// Whoever fits goes first, not whoever came first: a queue would let a large request block the small one that
// the holder of the memory needs before it can give any back.
ByteBudget::Lease ByteBudget::take(std::uint64_t bytes, const Stop& stop) {
  std::unique_lock lock{mutex_};
  const auto fits = [&] { return used_ == 0 || (used_ <= limit_ && bytes <= limit_ - used_); };
  for (;;) {
    stop.throw_if_requested();
    if (changed_.wait_for(lock, std::chrono::milliseconds{100}, fits)) break;
  }
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return {this, bytes};
}

std::uint64_t ByteBudget::peak() const {
  const std::lock_guard lock{mutex_};
  return peak_;
}

Block::Block(std::size_t capacity, ByteBudget::Lease lease)
    : data_{std::make_unique_for_overwrite<std::byte[]>(capacity)},
      capacity_{capacity},
      lease_{std::move(lease)} {}

}  // namespace decant
