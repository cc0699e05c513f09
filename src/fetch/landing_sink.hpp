// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "decant/base/bytes.hpp"
#include "download.hpp"
#include "flight.hpp"

namespace decant::fetch {

// Thrown at a source that goes on sending when nothing is missing any more.
struct AllLanded {};

// Takes what one connection receives for a run of chunks, and lands it chunk by chunk. Chunks of the run that
// have landed already (a source that knows no ranges sends them again) are passed over.
class LandingSink final : public ByteSink {
 public:
  LandingSink(ActiveDownload& download, Flight& flight);
  ~LandingSink() override { forget_chunk(); }
  LandingSink(const LandingSink&) = delete;
  LandingSink& operator=(const LandingSink&) = delete;

  // Throws AllLanded, Interrupted, Error{disk}. Waits where a limit of bytes per second says so.
  void write(Bytes bytes) override;
  std::uint64_t position() const { return position_; }  // where the next byte goes
  ByteRange rest() const { return {position_, end_ - position_}; }
  bool is_done() const { return missing_ == 0; }
  void rewind();  // the next byte is the first of the run again

 private:
  void land(Bytes bytes);
  void forget_chunk();

  ActiveDownload& download_;
  Flight& flight_;
  cache::Partial& partial_;
  const std::uint64_t start_;
  const std::uint64_t end_;
  std::uint64_t missing_ = 0;  // chunks
  std::uint64_t position_;
  bool pass_over_ = false;     // the chunk at position_
  std::uint64_t written_ = 0;  // bytes of the chunk at position_
  std::uint32_t crc_ = 0;      // of these
};

}  // namespace decant::fetch
