// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <utility>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fetch/downloader.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/fs/read.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::fetch {
namespace {

constexpr std::uint64_t k_block_bytes = k_mib;

Error size_differs(const std::string& name, std::uint64_t expected, std::string found) {
  return Error{Problem{.kind = ErrorKind::integrity,
                       .thing = fmt::format("{}: the file has another size", escape_for_display(name)),
                       .expected = fmt::format("{} bytes", expected),
                       .found = std::move(found),
                       .hint = "something changes it: find out what, then run the same line again"}};
}

// The digest over what was handed out.
class RunningDigest {
 public:
  explicit RunningDigest(const source::Object& object) : hasher_{object.digest.algorithm(), object.size} {}
  void update(Bytes bytes) { hasher_.update(bytes); }
  void finish() {
    if (!digest_) digest_ = hasher_.finish();
  }
  hash::Digest get() const {
    if (!digest_) throw Error{ErrorKind::bug, "a digest was asked for before the end"};
    return *digest_;
  }

 private:
  hash::Hasher hasher_;
  std::optional<hash::Digest> digest_;
};

// A chunk in blocks that share one lease: taken at once, so that two readers cannot hold half a chunk each
// and wait for the other's half.
struct ChunkBlocks {
  explicit ChunkBlocks(ByteBudget::Lease taken) : lease{std::move(taken)} {}
  ByteBudget::Lease lease;
  std::deque<Block> blocks;
};

class DownloadReader final : public ObjectReader {
 public:
  DownloadReader(std::shared_ptr<Download> download, const source::Object& object, ByteBudget& budget,
                 const Stop& stop)
      : download_{std::move(download)}, size_{object.size}, budget_{budget}, stop_{stop}, digest_{object} {}

  BlockPtr next() override {
    stop_.throw_if_requested();
    BlockPtr block = ready_.empty() ? read_on() : take_ready();
    if (block == nullptr) {
      digest_.finish();
      return nullptr;
    }
    digest_.update(block->filled());
    position_ += block->filled().size();
    return block;
  }

  hash::Digest digest() override { return digest_.get(); }

 private:
  BlockPtr take_ready() {
    BlockPtr block = std::move(ready_.front());
    ready_.pop_front();
    return block;
  }

  BlockPtr read_on() {
    if (position_ == size_) return nullptr;
    const std::uint64_t chunk = position_ / cache::k_chunk_bytes;
    for (;;) {
      download_->wait_for(std::min(size_, (chunk + 1) * cache::k_chunk_bytes));
      cache::Partial& partial = download_->partial();
      const cache::ChunkState state = partial.chunk_state(chunk);
      if (state == cache::ChunkState::landed) return read_block(partial, chunk);
      // Missing: dropped by somebody between the two calls above.
      if (state == cache::ChunkState::landed_earlier && read_chunk(partial, chunk)) return take_ready();
      download_->refetch(chunk);
    }
  }

  BlockPtr read_block(cache::Partial& partial, std::uint64_t chunk) {
    const std::uint64_t length = std::min(k_block_bytes, partial.chunk_range(chunk).end() - position_);
    auto block = std::make_shared<Block>(length, budget_.take(length, stop_));
    if (fs::pread_all(partial.data_fd(), block->storage(), position_, partial.path()) != length) {
      throw size_differs(partial.path(), size_, "fewer: it was cut while it was read");
    }
    block->set_filled(length);
    return block;
  }

  // The whole chunk, as nothing of it may be handed out before its CRC is known to be right.
  bool read_chunk(cache::Partial& partial, std::uint64_t chunk) {
    const ByteRange range = partial.chunk_range(chunk);
    const auto whole = std::make_shared<ChunkBlocks>(budget_.take(range.length, stop_));
    std::uint32_t crc = 0;
    for (std::uint64_t offset = range.offset; offset < range.end(); offset += k_block_bytes) {
      const std::uint64_t length = std::min(k_block_bytes, range.end() - offset);
      Block& block = whole->blocks.emplace_back(length, ByteBudget::Lease{});
      try {
        if (fs::pread_all(partial.data_fd(), block.storage(), offset, partial.path()) != length) return false;
      } catch (const Error&) {
        partial.drop(chunk);  // the next run does not trip over it
        throw;
      }
      block.set_filled(length);
      crc = hash::crc32c(crc, block.filled());
    }
    if (!partial.confirm_crc(chunk, crc)) return false;
    for (Block& block : whole->blocks) ready_.emplace_back(whole, &block);
    return true;
  }

  const std::shared_ptr<Download> download_;
  const std::uint64_t size_;
  ByteBudget& budget_;
  const Stop& stop_;
  RunningDigest digest_;
  std::deque<BlockPtr> ready_;
  std::uint64_t position_ = 0;
};

class FileReader final : public ObjectReader {
 public:
  FileReader(int fd, std::string name, const source::Object& object, ByteBudget& budget,
             std::shared_ptr<progress::PartCounters> counters, const Stop& stop)
      : fd_{fd},
        name_{std::move(name)},
        size_{object.size},
        budget_{budget},
        counters_{std::move(counters)},
        stop_{stop},
        digest_{object} {
    const fs::EntryFacts facts = fs::facts_of(fd);
    if (facts.type != fs::FileType::file || facts.size != size_) {
      throw size_differs(
          name_, size_,
          facts.type == fs::FileType::file ? fmt::format("{} bytes", facts.size) : "no regular file");
    }
    ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  BlockPtr next() override {
    stop_.throw_if_requested();
    if (position_ == size_) {
      std::array<std::byte, 1> more{};
      if (fs::pread_all(fd_, more, position_, name_) != 0)
        throw size_differs(name_, size_, "more: it grew meanwhile");
      digest_.finish();
      return nullptr;
    }
    const std::uint64_t length = std::min(k_block_bytes, size_ - position_);
    auto block = std::make_shared<Block>(length, budget_.take(length, stop_));
    const std::size_t got = fs::pread_all(fd_, block->storage(), position_, name_);
    if (got != length) throw size_differs(name_, size_, fmt::format("{} bytes", position_ + got));
    block->set_filled(length);
    digest_.update(block->filled());
    position_ += length;
    if (counters_) counters_->bytes_done += length;
    return block;
  }

  hash::Digest digest() override { return digest_.get(); }

 private:
  const int fd_;
  const std::string name_;
  const std::uint64_t size_;
  ByteBudget& budget_;
  const std::shared_ptr<progress::PartCounters> counters_;
  const Stop& stop_;
  RunningDigest digest_;
  std::uint64_t position_ = 0;
};

}  // namespace

std::unique_ptr<ObjectReader> read_download(std::shared_ptr<Download> download, const source::Object& object,
                                            ByteBudget& budget, const Stop& stop) {
  return std::make_unique<DownloadReader>(std::move(download), object, budget, stop);
}

std::unique_ptr<ObjectReader> read_file(int fd, std::string name, const source::Object& object,
                                        ByteBudget& budget, std::shared_ptr<progress::PartCounters> counters,
                                        const Stop& stop) {
  return std::make_unique<FileReader>(fd, std::move(name), object, budget, std::move(counters), stop);
}

}  // namespace decant::fetch
