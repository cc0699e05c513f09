// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "decant/base/bytes.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/hash/digest.hpp"

namespace decant {
class Stop;
}

namespace decant::cache {

// The unit of the range record: a chunk is landed (written, with its CRC-32C recorded) or missing.
inline constexpr std::uint64_t k_chunk_bytes = k_mib;

enum class ChunkState : std::uint8_t {
  missing,
  landed_earlier,  // recorded by an earlier process: its CRC is to be checked when it is read
  landed,          // by this process
};

// What to make of bytes that a living process of this user holds, when nothing is free.
enum class Held {
  leave,
  copy,  // its good chunks: it has stood still for too long
};

// A file that is arriving: a directory PREFIX.partial.NONCE that belongs to one process for good:
//   owner         who that is (fs::Owner); its mtime is the heartbeat
//   bytes/data    the file, sparse until it is complete
//   bytes/ranges  which chunks have landed: a header and 8 bytes a chunk (src/cache/range_record.hpp)
// Claiming moves `bytes` of a dead owner into a directory whose owner is written already: one rename, so that
// of many claimants one wins, also where locks do nothing, and no moment at which a live process' bytes look
// abandoned. From another host, whose process can only be presumed dead, the good chunks are copied instead:
// it may wake up and write. A leftover whose range record was lost (gone, zeroed, cut within its header) is
// adopted as it is: its chunks without holes count as landed, and the digest of the whole decides once; when
// it is wrong, everything is dropped. A record of something else is not believed. Nothing is synced before
// finish(): after a power cut, what did not reach the disk fails its CRC. Thread-safe.
class Partial {
 public:
  struct Impl;
  // Claims the leftover below `parent` that has most landed bytes and whose owner is dead, or this process if
  // it is not open any more; else makes a new one. Free leftovers that hold nothing of use are removed.
  // `stop` ends the copying of another host's bytes with Interrupted.
  static Partial claim_or_create(const fs::DirHandle& parent, const std::string& prefix, std::uint64_t size,
                                 const hash::Digest& digest, const Stop& stop, Held held = Held::leave);
  // Landed bytes of the best leftover that could be claimed now; for plan and status. Writes nothing.
  static std::uint64_t landed_bytes_of_leftovers(const fs::DirHandle& parent, const std::string& prefix,
                                                 std::uint64_t size);
  // Removes leftovers of dead owners that hold no bytes, such as those of a process that was killed right
  // after finish() had renamed them. Failing is no matter.
  static void remove_empty_leftovers(const fs::DirHandle& parent, const std::string& prefix,
                                     std::uint64_t size, const hash::Digest& digest);
  ~Partial();
  Partial(Partial&&) noexcept;
  Partial& operator=(Partial&&) noexcept;

  std::uint64_t size() const;
  std::uint64_t chunk_count() const;
  ByteRange chunk_range(std::uint64_t chunk) const;
  ChunkState chunk_state(std::uint64_t chunk) const;
  std::uint64_t landed_bytes() const;
  int data_fd() const;       // read and write
  std::string path() const;  // for messages

  // Positional write into `data`; throws Error{disk}.
  void write_at(std::uint64_t offset, Bytes bytes);
  // All bytes of the chunk are written; records its CRC.
  void mark_landed(std::uint64_t chunk, std::uint32_t crc);
  // True when the bytes match the recorded CRC (then landed), else the slot is cleared (missing).
  bool confirm(std::uint64_t chunk, Bytes bytes);
  bool confirm_crc(std::uint64_t chunk, std::uint32_t crc);  // the same, for bytes that lie in pieces
  void drop(std::uint64_t chunk);
  void drop_all();
  // Tells others that we live; cheap, call at least every 30 s.
  void heartbeat();

  // All chunks landed: fsync, `mode`, rename without replacing to to_dir/to, fsync(dir), and the partial's
  // directory goes away. False when the name is taken: nothing was renamed, the partial stays. When fsync
  // fails, all chunks are dropped, since the kernel may have thrown them away.
  bool finish(const fs::DirHandle& to_dir, const fs::RelPath& to, mode_t mode);
  void discard();  // removes it

 private:
  explicit Partial(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace decant::cache
