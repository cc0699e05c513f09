// SPDX-License-Identifier: Apache-2.0
#include "marks.hpp"

#include <cstddef>

namespace decant::state {
namespace {

constexpr std::string_view k_header = "decant.marks/1\n";
constexpr std::size_t k_entry_size = 1 + 8 + 8 + 8 + 8 + 4;

template <std::size_t Size>
void put(std::string& out, std::uint64_t value) {
  for (std::size_t i = 0; i < Size; ++i) out += static_cast<char>((value >> (8 * i)) & 0xFF);
}

template <std::size_t Size>
std::uint64_t take(std::string_view& in) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < Size; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(in[i])} << (8 * i);
  }
  in.remove_prefix(Size);
  return value;
}

}  // namespace

std::uint64_t encoded_marks_size(std::uint64_t entries) {
  return k_header.size() + 8 + k_entry_size * entries;
}

std::string encode_marks(const Marks& marks) {
  std::string out;
  out.reserve(encoded_marks_size(marks.size()));
  out += k_header;
  put<8>(out, marks.size());
  for (const EntryMark& mark : marks) {
    put<1>(out, static_cast<std::uint64_t>(mark.place));
    put<8>(out, mark.stamp.dev);
    put<8>(out, mark.stamp.ino);
    put<8>(out, mark.stamp.size);
    put<8>(out, static_cast<std::uint64_t>(mark.stamp.mtime_sec));
    put<4>(out, mark.stamp.mtime_nsec);
  }
  return out;
}

std::optional<Marks> decode_marks(std::string_view bytes) {
  if (bytes.size() < k_header.size() + 8 || !bytes.starts_with(k_header)) return std::nullopt;
  bytes.remove_prefix(k_header.size());
  const std::uint64_t count = take<8>(bytes);
  if (bytes.size() % k_entry_size != 0 || bytes.size() / k_entry_size != count) return std::nullopt;
  Marks marks(static_cast<std::size_t>(count));
  for (EntryMark& mark : marks) {
    const std::uint64_t place = take<1>(bytes);
    if (place > static_cast<std::uint64_t>(Place::adopted)) return std::nullopt;
    mark.place = static_cast<Place>(place);
    mark.stamp.dev = take<8>(bytes);
    mark.stamp.ino = take<8>(bytes);
    mark.stamp.size = take<8>(bytes);
    mark.stamp.mtime_sec = static_cast<std::int64_t>(take<8>(bytes));
    mark.stamp.mtime_nsec = static_cast<std::uint32_t>(take<4>(bytes));
  }
  return marks;
}

}  // namespace decant::state
