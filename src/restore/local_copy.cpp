// SPDX-License-Identifier: Apache-2.0
#include "local_copy.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>

#include "decant/base/text.hpp"
#include "decant/fs/owner.hpp"
#include "decant/fs/read.hpp"
#include "decant/fs/sys.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::restore {

namespace {

// Says that this process lives, as often as others want to hear it.
class Heart {
 public:
  explicit Heart(const Clock& clock) : clock_{clock}, last_{clock.now()} {}
  void beat(cache::Partial& partial) {
    const auto now = clock_.now();
    if (now - last_ < std::chrono::seconds{fs::k_heartbeat_period_seconds * 2 / 3}) return;
    partial.heartbeat();
    last_ = now;
  }

 private:
  const Clock& clock_;
  std::chrono::steady_clock::time_point last_;
};

// False when the place's copy was cut or cannot be read.
bool read_all(int fd, std::span<std::byte> bytes, std::uint64_t offset, const std::string& name) {
  try {
    return fs::pread_all(fd, bytes, offset, name) == bytes.size();
  } catch (const Error&) {
    return false;
  }
}

// The digest of a whole file; nullopt when it was cut or cannot be read.
std::optional<hash::Digest> digest_of(const Prepared& p, int fd, const source::Object& object) {
  try {
    return hash::hash_file(fd, object.size, object.digest.algorithm(), object.path.str(), p.stop());
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Lands the whole file in the partial and tells its digest; nullopt when it was cut or cannot be read.
std::optional<hash::Digest> land(const Prepared& p, int from, cache::Partial& partial,
                                 const source::Object& object, progress::PartCounters* counters) {
  const std::string name = object.path.str();
  // Shared blocks are read back from the copy: they are what is proven.
  const bool is_clone = object.size > 0 && fs::sys::clone_file(partial.data_fd(), from) == 0;
  // It may have grown since it was opened.
  if (is_clone && fs::sys::ftruncate(partial.data_fd(), static_cast<off_t>(object.size)) != 0)
    throw_errno(errno, "cut", partial.path());
  hash::Hasher hasher{object.digest.algorithm(), object.size};
  std::vector<std::byte> chunk(static_cast<std::size_t>(std::min(object.size, cache::k_chunk_bytes)));
  Heart heart{*p.services.clock};
  for (std::uint64_t i = 0; i < partial.chunk_count(); ++i) {
    p.stop().throw_if_requested();
    const auto range = partial.chunk_range(i);
    const std::span<std::byte> bytes{chunk.data(), static_cast<std::size_t>(range.length)};
    const int fd = is_clone ? partial.data_fd() : from;
    if (!read_all(fd, bytes, range.offset, name)) return std::nullopt;
    hasher.update(bytes);
    if (!is_clone) partial.write_at(range.offset, bytes);
    partial.mark_landed(i, hash::crc32c(0, bytes));
    if (counters != nullptr) counters->bytes_done += range.length;
    heart.beat(partial);
  }
  return hasher.finish();
}

}  // namespace

std::optional<std::string> copy_from_local(Workshop& shop, const source::Object& object,
                                           const std::shared_ptr<progress::PartCounters>& counters) {
  auto& p = shop.prepared;
  std::size_t next = 0;
  std::optional<cache::Partial> partial;
  while (auto* place = shop.place_to_read(next, next)) {
    const auto fd = place->open_in_place(object);
    if (!fd) continue;
    if (!partial) partial.emplace(p.cache->begin(object.digest, object.size, p.stop()));
    // What an earlier run has fetched is not given up for a copy that nobody has read yet.
    const bool read_first = partial->landed_bytes() > 0;
    auto found = read_first ? digest_of(p, fd->get(), object) : std::nullopt;
    if (!read_first || found == object.digest) {
      const auto before = counters ? counters->bytes_done.load() : 0;
      found = land(p, fd->get(), *partial, object, counters.get());
      if (found == object.digest) {
        p.cache->finish(std::move(*partial), object.digest);
        return place->name();
      }
      partial->drop_all();
      if (counters) counters->bytes_done = before;
    }
    const std::string shown = escape_for_display(object.path.str());
    if (shop.is_last(*place))
      throw Error{Problem{.kind = ErrorKind::integrity,
                          .thing = fmt::format("{}: the copy in {} has another digest", shown, place->name()),
                          .expected = object.digest.hex(),
                          .found = found ? found->hex() : "a file that cannot be read to its end",
                          .hint = "the directory's copy is damaged or of another release; copy it anew"}};
    p.reporter().message(progress::Level::warning,
                         fmt::format("{}: the copy in {} is damaged or another file; going on without it",
                                     shown, place->name()));
    shop.count_lie(*place);
  }
  return std::nullopt;
}

}  // namespace decant::restore
