// SPDX-License-Identifier: Apache-2.0
#include "zstd_source.hpp"

#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "decant/base/c_handle.hpp"
#include "decant/base/error.hpp"

namespace decant::archive {
namespace {

constexpr std::uint64_t k_largest_block = k_mib;
constexpr std::uint64_t k_smallest_block = 64 * k_kib;

// Small enough that several readers and their lanes can hold some at once.
std::size_t block_size_for(std::uint64_t limit) {
  return static_cast<std::size_t>(std::clamp(limit / 16, k_smallest_block, k_largest_block));
}

}  // namespace

struct ZstdSource::Decoder {
  CHandle<ZSTD_freeDCtx> context{ZSTD_createDCtx(), "ZSTD_createDCtx"};
};

ZstdSource::ZstdSource(BlockSource& compressed, int max_window_log, ByteBudget& budget, const Stop& stop)
    : compressed_{compressed},
      max_window_log_{max_window_log},
      budget_{budget},
      stop_{stop},
      block_size_{block_size_for(budget.limit())} {}

ZstdSource::~ZstdSource() = default;

BlockPtr ZstdSource::next() {
  BlockPtr block;
  std::size_t filled = 0;
  for (;;) {
    stop_.throw_if_requested();
    if (!in_frame_ && !start_frame()) break;
    if (!block) block = std::make_shared<Block>(block_size_, budget_.take(block_size_, stop_));
    if (decode_into(*block, filled)) in_frame_ = false;
    if (filled == block_size_) break;
  }
  if (filled == 0) return nullptr;
  block->set_filled(filled);
  return block;
}

bool ZstdSource::refill() {
  while (input_.empty()) {
    input_block_.reset();
    input_block_ = compressed_.next();
    if (!input_block_) return false;
    input_ = input_block_->filled();
  }
  return true;
}

void ZstdSource::read_header(std::size_t wanted) {
  while (head_size_ < wanted) {
    if (!refill()) fail("cut short");
    const auto used = std::min(input_.size(), wanted - head_size_);
    std::memcpy(head_.data() + head_size_, input_.data(), used);
    head_size_ += used;
    input_ = input_.subspan(used);
  }
}

bool ZstdSource::start_frame() {
  for (;;) {
    if (!refill()) {
      if (frame_ == 0) throw Error{ErrorKind::integrity, "the part is empty; it should be zstd data"};
      if (data_frames_ == 0)
        throw Error{ErrorKind::integrity, "the part has no zstd data, only skippable frames"};
      return false;
    }
    ++frame_;
    const auto start = input_;
    head_size_ = 0;
    read_header(std::min(frame_header_size({}), k_max_frame_header));
    const auto size = frame_header_size(Bytes{head_}.first(head_size_));
    read_header(size);
    const auto header = parse_frame_header(Bytes{head_}.first(head_size_));
    if (!header) {
      if (frame_ > 1) fail("bytes follow the last frame that are no zstd data");
      const auto looks = describe_foreign(start.size() > head_size_ ? start : Bytes{head_}.first(head_size_));
      throw Error{Problem{.kind = ErrorKind::integrity,
                          .thing = "the part is not zstd data",
                          .expected = "a zstd frame",
                          .found = looks}};
    }
    if (header->kind == FrameKind::skippable) {
      skip(header->skippable_size);
      continue;
    }
    ++data_frames_;
    admit(*header);
    head_left_ = Bytes{head_}.first(head_size_);
    in_frame_ = true;
    return true;
  }
}

void ZstdSource::skip(std::uint64_t size) {
  skipped_ += size;
  if (size > k_max_skippable_frame || skipped_ > k_max_skippable_total)
    fail("too many bytes in skippable frames");
  while (size > 0) {
    stop_.throw_if_requested();
    if (!refill()) fail("cut short");
    const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(size, input_.size()));
    input_ = input_.subspan(used);
    size -= used;
  }
}

void ZstdSource::admit(const FrameHeader& header) {
  if (header.has_dictionary) fail("compressed with a dictionary, which parts may not need");
  if (header.window > 1ULL << max_window_log_) {
    const auto needed = std::bit_width(header.window - 1);
    fail("needs a window of 2^" + std::to_string(needed) + " bytes, more than the 2^" +
             std::to_string(max_window_log_) + " allowed",
         "the release has to be repacked with a smaller window");
  }
  reserve_window(header.window);
  ZSTD_DCtx_reset(decoder_->context.get(), ZSTD_reset_session_only);
}

// The window is paid for before the decoder allocates it. A window that does not fit the budget beside the
// blocks that are needed to use it is charged as far as it goes, so that one reader alone can always finish.
void ZstdSource::reserve_window(std::uint64_t window) {
  if (decoder_ && window <= window_) return;
  decoder_.reset();
  window_lease_.give_back();
  const auto limit = budget_.limit();
  const auto reserve = std::min(16 * k_largest_block, limit / 2);
  window_lease_ = budget_.take(std::min(window, limit - reserve), stop_);
  window_ = window;
  decoder_ = std::make_unique<Decoder>();
  ZSTD_DCtx_setParameter(decoder_->context.get(), ZSTD_d_windowLogMax, std::max(max_window_log_, 10));
}

bool ZstdSource::decode_into(Block& block, std::size_t& filled) {
  const auto storage = block.storage();
  while (filled < storage.size()) {
    const bool from_head = !head_left_.empty();
    if (!from_head && !refill()) fail("cut short");
    auto& source = from_head ? head_left_ : input_;
    ZSTD_inBuffer in{source.data(), source.size(), 0};
    ZSTD_outBuffer out{storage.data() + filled, storage.size() - filled, 0};
    const auto result = ZSTD_decompressStream(decoder_->context.get(), &out, &in);
    if (ZSTD_isError(result) != 0U) fail(std::string{"damaged: "} + ZSTD_getErrorName(result));
    source = source.subspan(in.pos);
    filled += out.pos;
    if (result == 0) return true;
  }
  return false;
}

void ZstdSource::fail(std::string_view words, std::string_view hint) const {
  throw Error{ErrorKind::integrity, "zstd frame " + std::to_string(frame_) + ": " + std::string{words},
              std::string{hint}};
}

}  // namespace decant::archive
