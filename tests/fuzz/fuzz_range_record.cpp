// SPDX-License-Identifier: Apache-2.0
// Range records come from disks that lose power and from caches that others write to.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "range_record.hpp"

using namespace decant;
using namespace decant::cache;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = std::as_bytes(std::span{data, size});
  const auto header = parse_range_header(bytes);
  if (header) {
    const RangeHeaderBytes again = print_range_header(*header);
    if (!std::equal(again.begin(), again.end(), bytes.begin())) std::abort();
  }
  // A CRC guards the header; the slots are tried below one that is right as well.
  const RangeHeader used = header ? *header : RangeHeader{.chunk_bytes = 1, .size = size};
  for (std::uint64_t chunk = 0; range_slot_offset(chunk) <= size; ++chunk) {
    const Bytes slot = bytes.subspan(range_slot_offset(chunk));
    const auto crc = parse_range_slot(used, chunk, slot);
    if (!crc) continue;
    const RangeSlotBytes again = print_range_slot(used, chunk, *crc);
    if (!std::equal(again.begin(), again.end(), slot.begin())) std::abort();
  }
  return 0;
}
