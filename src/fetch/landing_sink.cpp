// SPDX-License-Identifier: Apache-2.0
#include "landing_sink.hpp"

#include <algorithm>

#include "decant/hash/hasher.hpp"

namespace decant::fetch {

LandingSink::LandingSink(ActiveDownload& download, Flight& flight)
    : download_{download},
      flight_{flight},
      partial_{download.partial()},
      start_{flight.run.first * cache::k_chunk_bytes},
      end_{partial_.chunk_range(flight.run.end() - 1).end()},
      position_{start_} {
  for (std::uint64_t chunk = flight.run.first; chunk < flight.run.end(); ++chunk) {
    if (!download_.is_landed(chunk)) ++missing_;
  }
  flight_.left = end_ - position_;
}

// What has come is kept first, and paid for then: a stop while it waits loses nothing.
void LandingSink::write(Bytes bytes) {
  land(bytes);
  download_.pay(bytes.size());
}

void LandingSink::land(Bytes bytes) {
  while (!bytes.empty()) {
    download_.stop().throw_if_requested();
    if (missing_ == 0) throw AllLanded{};
    const std::uint64_t chunk = position_ / cache::k_chunk_bytes;
    const ByteRange range = partial_.chunk_range(chunk);
    if (position_ == range.offset) pass_over_ = download_.is_landed(chunk);
    const Bytes piece = bytes.first(std::min<std::uint64_t>(bytes.size(), range.end() - position_));
    bytes = bytes.subspan(piece.size());

    if (!pass_over_) {
      partial_.write_at(position_, piece);
      crc_ = hash::crc32c(crc_, piece);
      written_ += piece.size();
    }
    position_ += piece.size();
    flight_.received += piece.size();
    flight_.left = end_ - position_;
    download_.count(pass_over_ ? 0 : static_cast<std::int64_t>(piece.size()), piece.size());
    if (position_ != range.end() || pass_over_) continue;
    partial_.mark_landed(chunk, crc_);
    download_.landed(chunk, flight_.source);
    written_ = 0;
    crc_ = 0;
    --missing_;
  }
}

void LandingSink::rewind() {
  forget_chunk();
  position_ = start_;
}

void LandingSink::forget_chunk() {
  download_.count(-static_cast<std::int64_t>(written_), 0);
  written_ = 0;
  crc_ = 0;
}

}  // namespace decant::fetch
