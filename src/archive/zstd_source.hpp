// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "decant/base/budget.hpp"
#include "decant/base/stop.hpp"
#include "decant/base/stream.hpp"
#include "zstd_frame.hpp"

namespace decant::archive {

inline constexpr std::uint64_t k_max_skippable_frame = 16 * k_mib;
inline constexpr std::uint64_t k_max_skippable_total = 64 * k_mib;

// Decodes a sequence of zstd frames, frame by frame, into blocks that the budget pays for. Throws
// Error{integrity} that names the frame, from 1: not zstd, cut short, damaged, a window above
// 2^max_window_log, a dictionary, more skippable bytes than the limits above, nothing at all.
class ZstdSource : public BlockSource {
 public:
  ZstdSource(BlockSource& compressed, int max_window_log, ByteBudget& budget, const Stop& stop);
  ~ZstdSource() override;

  BlockPtr next() override;

 private:
  struct Decoder;

  bool refill();  // false at the end of the compressed stream
  void read_header(std::size_t wanted);
  bool start_frame();  // false at the end of the stream
  void admit(const FrameHeader& header);
  void reserve_window(std::uint64_t window);
  void skip(std::uint64_t size);
  bool decode_into(Block& block, std::size_t& filled);  // true: the frame has ended
  [[noreturn]] void fail(std::string_view words, std::string_view hint = {}) const;

  BlockSource& compressed_;
  const int max_window_log_;
  ByteBudget& budget_;
  const Stop& stop_;
  const std::size_t block_size_;

  BlockPtr input_block_;
  Bytes input_;
  std::array<std::byte, k_max_frame_header> head_{};
  std::size_t head_size_ = 0;
  Bytes head_left_;  // of head_, still to be decoded
  bool in_frame_ = false;
  std::uint64_t frame_ = 0;
  std::uint64_t data_frames_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t window_ = 0;
  ByteBudget::Lease window_lease_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace decant::archive
