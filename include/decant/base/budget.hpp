// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "decant/base/bytes.hpp"
#include "decant/base/stop.hpp"

namespace decant {

// One memory budget shared by decoders and blocks. A request larger than the whole budget is granted when
// nothing else is out, so that progress is always possible. Thread-safe.
class ByteBudget {
 public:
  explicit ByteBudget(std::uint64_t limit) : limit_{limit} {}

  class Lease {
   public:
    Lease() = default;
    Lease(ByteBudget* budget, std::uint64_t bytes) : budget_{budget}, bytes_{bytes} {}
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { give_back(); }
    std::uint64_t bytes() const { return bytes_; }
    void give_back() noexcept;

   private:
    ByteBudget* budget_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

  // Waits until the bytes are free; throws Interrupted.
  Lease take(std::uint64_t bytes, const Stop& stop);
  std::uint64_t limit() const { return limit_; }
  std::uint64_t peak() const;

 private:
  friend class Lease;
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::uint64_t peak_ = 0;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
};

// A buffer whose bytes are counted in a budget for as long as anyone holds it.
class Block {
 public:
  Block(std::size_t capacity, ByteBudget::Lease lease);
  std::span<std::byte> storage() { return {data_.get(), capacity_}; }
  Bytes filled() const { return {data_.get(), size_}; }
  void set_filled(std::size_t size) { size_ = size; }

 private:
  std::unique_ptr<std::byte[]> data_;  // uninitialised until filled
  std::size_t capacity_;
  std::size_t size_ = 0;
  ByteBudget::Lease lease_;
};
using BlockPtr = std::shared_ptr<Block>;

// A piece of a block that keeps the block alive.
struct BlockSpan {
  BlockPtr block;
  Bytes bytes;
};

}  // namespace decant
