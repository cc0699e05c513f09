// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <variant>

#include "decant/archive/archive.hpp"
#include "entry_rules.hpp"

namespace decant::archive {

struct EntryEnd {};
using GuardEvent = std::variant<GuardEntry, BlockSpan, EntryEnd>;

// A strict tar parser over blocks that may be split anywhere. It understands the little of tar that releases
// need and refuses all else; what it holds is bounded by one extended header and the events of one block.
class Guard {
 public:
  explicit Guard(const Rules& rules) : rules_{rules} {}

  // Parses a whole block. Throws Error{integrity}.
  void feed(const BlockPtr& block);
  // The stream is over. Throws Error{integrity} unless the archive was complete.
  void finish();

  std::deque<GuardEvent>& events() { return events_; }
  std::uint64_t entries() const { return entries_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t offset() const { return offset_; }

 private:
  enum class State {
    header,   // collecting 512 bytes
    meta,     // collecting an extended header or a long name
    data,     // passing on a file's content
    padding,  // up to the next multiple of 512
    tail,     // after two zero blocks
  };

  std::size_t step(const BlockPtr& block, Bytes bytes);
  std::size_t take_header(Bytes bytes);
  std::size_t take_meta(Bytes bytes);
  std::size_t take_data(const BlockPtr& block, Bytes bytes);
  std::size_t take_padding(Bytes bytes);
  std::size_t take_tail(Bytes bytes);
  void on_header();
  void on_zero_block();
  void on_meta();
  void start_meta(const TarHeader& header);
  void start_entry(const TarHeader& header);
  void end_content(std::uint64_t size);

  Rules rules_;
  State state_ = State::header;
  std::array<std::byte, k_tar_block> header_{};
  std::size_t header_size_ = 0;
  bool one_zero_block_ = false;
  bool seen_global_ = false;

  char meta_type_ = '\0';
  std::string meta_;
  std::uint64_t left_ = 0;          // of the content or padding that is being read
  std::uint64_t padding_next_ = 0;  // after the content
  Prelude prelude_;

  std::uint64_t offset_ = 0;
  std::uint64_t group_offset_ = 0;  // of the first header that belongs to the entry being read
  bool in_group_ = false;
  std::uint64_t tail_bytes_ = 0;
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
  std::string current_name_;  // for messages
  std::deque<GuardEvent> events_;
};

}  // namespace decant::archive
