// SPDX-License-Identifier: Apache-2.0
#include "guard.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pax.hpp"
#include "refusal.hpp"

namespace decant::archive {
namespace {

constexpr std::uint64_t k_max_gnu_name = fs::RelPath::k_max_bytes + 1;  // with its NUL
// Writers pad the archive to their record size, which is some MiB at most.
constexpr std::uint64_t k_max_tail = 64 * k_mib;

bool is_extension(char type) {
  return type == 'x' || type == 'g' || type == 'L' || type == 'K';
}

// The body of a GNU long name header: the name, ended by NULs or by the body's end.
std::string gnu_name(std::string_view body) {
  const auto end = body.find('\0');
  const auto name = body.substr(0, end);
  if (end != std::string_view::npos && body.find_first_not_of('\0', end) != std::string_view::npos) {
    throw Refusal{Rule::s1_name, "its long name holds a NUL"};
  }
  if (name.empty()) throw Refusal{Rule::s1_name, "its long name is empty"};
  return std::string{name};
}

}  // namespace

void Guard::feed(const BlockPtr& block) {
  auto rest = block->filled();
  try {
    while (!rest.empty()) {
      const auto used = step(block, rest);
      offset_ += used;
      rest = rest.subspan(used);
      if (state_ == State::header && header_size_ == k_tar_block) on_header();
      if (state_ == State::meta && left_ == 0) on_meta();
    }
  } catch (const Refusal& refusal) {
    refuse_entry(entries_ + 1, current_name_, rule_id(refusal.rule), refusal.words);
  }
}

std::size_t Guard::step(const BlockPtr& block, Bytes bytes) {
  switch (state_) {
    case State::header:
      return take_header(bytes);
    case State::meta:
      return take_meta(bytes);
    case State::data:
      return take_data(block, bytes);
    case State::padding:
      return take_padding(bytes);
    case State::tail:
      break;
  }
  return take_tail(bytes);
}

std::size_t Guard::take_header(Bytes bytes) {
  const auto used = std::min(bytes.size(), k_tar_block - header_size_);
  std::memcpy(header_.data() + header_size_, bytes.data(), used);
  header_size_ += used;
  return used;
}

std::size_t Guard::take_meta(Bytes bytes) {
  const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_));
  meta_.append(as_text(bytes.first(used)));
  left_ -= used;
  return used;
}

std::size_t Guard::take_data(const BlockPtr& block, Bytes bytes) {
  const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_));
  events_.emplace_back(BlockSpan{block, bytes.first(used)});
  left_ -= used;
  if (left_ == 0) {
    events_.emplace_back(EntryEnd{});
    end_content(padding_next_);
  }
  return used;
}

std::size_t Guard::take_padding(Bytes bytes) {
  const auto used = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_));
  left_ -= used;
  if (left_ == 0) state_ = State::header;
  return used;
}

std::size_t Guard::take_tail(Bytes bytes) {
  if (!is_zero_block(bytes)) {
    throw Refusal{Rule::s8_form, "bytes follow the end of the archive; one tar per part, then only zeros"};
  }
  tail_bytes_ += bytes.size();
  if (tail_bytes_ > k_max_tail) throw Refusal{Rule::s8_form, "more than 64 MiB of zeros follow the end"};
  return bytes.size();
}

// After content of any kind: its padding, if there is some.
void Guard::end_content(std::uint64_t padding) {
  left_ = padding;
  state_ = padding == 0 ? State::header : State::padding;
}

void Guard::on_header() {
  header_size_ = 0;
  const Bytes block{header_};
  const auto at = offset_ - k_tar_block;
  if (is_zero_block(block)) return on_zero_block();
  current_name_ = name_for_message(block);
  if (one_zero_block_) throw Refusal{Rule::s8_form, "a single zero block, then more; the archive is damaged"};
  const auto header = parse_header(block);
  if (!in_group_) group_offset_ = at;
  in_group_ = true;
  if (is_extension(header.type)) return start_meta(header);
  start_entry(header);
}

void Guard::on_zero_block() {
  current_name_.clear();
  if (in_group_ && !prelude_.empty()) throw Refusal{Rule::s8_form, "an extended header without an entry"};
  if (one_zero_block_) state_ = State::tail;
  one_zero_block_ = true;
}

void Guard::start_meta(const TarHeader& header) {
  const bool is_pax = header.type == 'x' || header.type == 'g';
  const auto limit = is_pax ? k_max_pax_bytes : k_max_gnu_name;
  if (header.size > limit) {
    throw Refusal{is_pax ? Rule::s8_form : Rule::s1_name,
                  is_pax ? "its PAX header is larger than 64 KiB" : "its name is longer than 4,095 bytes"};
  }
  const bool twice = header.type == 'g'   ? seen_global_
                     : header.type == 'x' ? prelude_.pax.has_value()
                     : header.type == 'L' ? prelude_.gnu_name.has_value()
                                          : prelude_.gnu_link.has_value();
  if (twice) throw Refusal{Rule::s8_form, "two extended headers of one kind"};
  if (header.type == 'g' && (entries_ != 0 || !prelude_.empty())) {
    throw Refusal{Rule::s8_form, "a global PAX header that is not at the start"};
  }
  const bool has_gnu = prelude_.gnu_name || prelude_.gnu_link;
  if ((is_pax && has_gnu) || (!is_pax && prelude_.pax)) {
    throw Refusal{Rule::s8_form, "PAX and GNU extended headers for one entry"};
  }
  meta_type_ = header.type;
  meta_.clear();
  left_ = header.size;
  padding_next_ = padding_of(header.size);
  state_ = State::meta;
}

void Guard::on_meta() {
  switch (meta_type_) {
    case 'x':
      prelude_.pax = parse_pax(meta_);
      if (prelude_.pax->path) current_name_ = *prelude_.pax->path;
      break;
    case 'g':
      check_global_pax(meta_);
      seen_global_ = true;
      break;
    case 'L':
      prelude_.gnu_name = gnu_name(meta_);
      current_name_ = *prelude_.gnu_name;
      break;
    default:
      prelude_.gnu_link = gnu_name(meta_);
  }
  end_content(padding_next_);
}

void Guard::start_entry(const TarHeader& header) {
  current_name_ = effective_name(header, prelude_);
  auto item = judge(header, prelude_, rules_);
  item.entry.number = entries_ + 1;
  item.entry.tar_offset = group_offset_;
  if (rules_.max_entries && item.entry.number > *rules_.max_entries) {
    throw Refusal{Rule::s9_set,
                  "more entries than the manifest states (" + std::to_string(*rules_.max_entries) + ")"};
  }
  const auto size = item.entry.size;
  if (size > rules_.max_bytes.value_or(UINT64_MAX) - bytes_) {
    throw Refusal{Rule::s6_size, rules_.max_bytes ? "more bytes than the manifest states (" +
                                                        std::to_string(*rules_.max_bytes) + ")"
                                                  : std::string{"the sum of all sizes is impossible"}};
  }
  events_.emplace_back(std::move(item));
  ++entries_;
  bytes_ += size;
  prelude_ = {};
  in_group_ = false;
  if (size == 0) {
    events_.emplace_back(EntryEnd{});
    state_ = State::header;
    return;
  }
  left_ = size;
  padding_next_ = padding_of(size);
  state_ = State::data;
}

void Guard::finish() {
  if (state_ != State::tail) {
    const bool in_content = state_ == State::data || state_ == State::padding;
    refuse_entry(in_content ? entries_ : entries_ + 1, current_name_, rule_id(Rule::s8_form),
                 "the archive ends here, before its two closing zero blocks");
  }
  if (entries_ == 0 && rules_.max_entries != std::uint64_t{0}) {
    throw Error{ErrorKind::integrity, "the archive has no entries (rule S8)"};
  }
}

}  // namespace decant::archive
