// SPDX-License-Identifier: Apache-2.0
#include "read.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "decant/base/bytes.hpp"
#include "decant/hash/hasher.hpp"
#include "look.hpp"

namespace decant::verify {
namespace {

using report::FindingKind;

constexpr std::size_t k_piece = k_mib;
constexpr std::uint64_t k_small = 8 * k_mib;
constexpr std::uint64_t k_cost_of_opening = 16 * k_kib;

bool same_time(const struct timespec& a, const struct timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// What changed between two looks at an open file; empty when nothing did.
std::string changes(const struct stat& before, const struct stat& after) {
  std::string text;
  const auto add = [&](bool same, std::string_view what) {
    if (!same) text.append(text.empty() ? "" : ", ").append(what);
  };
  add(before.st_size == after.st_size, "size");
  add(same_time(before.st_mtim, after.st_mtim), "modification time");
  add(same_time(before.st_ctim, after.st_ctim), "change time");
  return text;
}

class Reader {
 public:
  Reader(std::deque<Sheet>& sheets, Ledger& ledger, const Stop& stop)
      : sheets_{sheets},
        ledger_{ledger},
        stop_{stop},
        buffer_{std::make_unique_for_overwrite<std::byte[]>(k_piece)} {}

  void read(const ReadJob& job) {
    Sheet& sheet = sheets_[job.sheet];
    const Expected& entry = sheet.entries()[job.entry];
    std::uint64_t counted = 0;
    judge(sheet, job.entry, counted);
    // The bar reaches its end whatever became of the file.
    if (counted < entry.size)
      sheet.counters->bytes_done.fetch_add(entry.size - counted, std::memory_order_relaxed);
  }

 private:
  void judge(Sheet& sheet, std::size_t i, std::uint64_t& counted) {
    const Expected& entry = sheet.entries()[i];
    const auto fail = [&](FindingKind kind, std::string expected, std::string found) {
      report::Finding finding = sheet.finding(kind, entry);
      finding.expected = std::move(expected);
      finding.found = std::move(found);
      ledger_.add(std::move(finding));
    };
    const auto unstable = [&](std::string found) {
      fail(FindingKind::unstable, "a file that stays as it is while it is read", std::move(found));
    };
    const Fd fd{open(sheet, entry)};
    if (!fd) {
      const bool gone = errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
      return gone ? unstable("gone meanwhile") : fail(FindingKind::unreadable, {}, errno_words(errno));
    }
    struct stat before {};
    if (::fstat(fd.get(), &before) != 0) return fail(FindingKind::unreadable, {}, errno_words(errno));
    const auto size = static_cast<std::uint64_t>(before.st_size);
    const bool states_size = entry.states_size && (entry.digest.valid() || entry.size > 0);
    if (!S_ISREG(before.st_mode)) return unstable("no regular file any more");
    if (states_size && size != entry.size) return unstable("size changed");

    const bool wants_git = entry.digest.valid() && entry.digest.algorithm() == hash::Algorithm::git_sha1;
    sha256_.reset();
    if (wants_git) git_.reset(hash::Algorithm::git_sha1, size);
    std::uint64_t done = 0;
    for (;;) {
      stop_.throw_if_requested();
      // One byte more than is left, so that a file that goes on shows.
      const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(k_piece, size - done + 1));
      const ssize_t got = ::pread(fd.get(), buffer_.get(), want, static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        return fail(FindingKind::unreadable, {},
                    fmt::format("{} at byte {}", errno_words(errno), format_count(done)));
      }
      if (got == 0) break;
      const auto count = static_cast<std::uint64_t>(got);
      if (count > size - done) return unstable("size changed");
      const Bytes bytes{buffer_.get(), static_cast<std::size_t>(got)};
      sha256_.update(bytes);
      if (wants_git) git_.update(bytes);
      done += count;
      counted += count;
      sheet.counters->bytes_done.fetch_add(count, std::memory_order_relaxed);
      if (done == size) break;
    }
    struct stat after {};
    if (::fstat(fd.get(), &after) != 0) return fail(FindingKind::unreadable, {}, errno_words(errno));
    std::string changed = changes(before, after);
    if (done != size && changed.empty()) changed = "size";
    if (!changed.empty()) return unstable(changed + " changed");

    const hash::Digest sha256 = sha256_.finish();
    const hash::Digest judged = wants_git ? git_.finish() : sha256;
    const bool matches = !entry.digest.valid() || judged == entry.digest;
    sheet.set_hashed(i, sha256, matches);
    if (matches) return;
    const std::string_view algorithm = hash::to_string(judged.algorithm());
    fail(FindingKind::differs, fmt::format("{} {}", algorithm, entry.digest.hex()),
         fmt::format("{} {}", algorithm, judged.hex()));
  }

  // The directory is opened beneath the tree's top without following a link; the name in it is one component.
  int open(Sheet& sheet, const Expected& entry) {
    const std::string_view path = entry.path.str();
    const std::size_t slash = path.rfind('/');
    const std::string_view parent =
        slash == std::string_view::npos ? std::string_view{} : path.substr(0, slash);
    if (sheet_ != &sheet || parent != parent_ || !dir_) {
      sheet_ = &sheet;
      parent_ = parent;
      try {
        const fs::RelPath rel = entry.path.parent();
        dir_ = rel.is_root() ? std::optional{sheet.top()->duplicate()} : sheet.top()->open_dir_if_there(rel);
      } catch (const Error&) {
        dir_.reset();
        errno = EACCES;
        return -1;
      }
      if (!dir_) {
        errno = ENOENT;
        return -1;
      }
    }
    const int follow = sheet.tree().external ? 0 : O_NOFOLLOW;
    const char* const name = entry.path.name().data();
    for (;;) {
      const int fd = ::openat(dir_->fd(), name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | follow);
      if (fd >= 0 || errno != EINTR) return fd;
    }
  }

  std::deque<Sheet>& sheets_;
  Ledger& ledger_;
  const Stop& stop_;
  const std::unique_ptr<std::byte[]> buffer_;
  hash::Hasher sha256_;
  hash::Hasher git_;
  Sheet* sheet_ = nullptr;
  std::string parent_;
  std::optional<fs::DirHandle> dir_;
};

}  // namespace

ReadQueue::ReadQueue(const std::deque<Sheet>& sheets, int readers)
    : sheets_{sheets}, readers_{static_cast<std::uint64_t>(std::max(readers, 1))} {
  for (std::size_t s = 0; s < sheets.size(); ++s) {
    for (std::size_t i = 0; i < sheets[s].entries().size(); ++i) {
      if (sheets[s].is_shared(i) || sheets[s].seen(i) != Seen::to_read) continue;
      const ReadJob job{static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(i)};
      (sheets[s].entries()[i].size < k_small ? small_ : large_).push_back(job);
      left_ += cost(job);
      total_ += sheets[s].entries()[i].size;
    }
  }
  std::stable_sort(large_.begin(), large_.end(),
                   [&](const ReadJob& a, const ReadJob& b) { return cost(a) > cost(b); });
}

std::uint64_t ReadQueue::cost(const ReadJob& job) const {
  return sheets_[job.sheet].entries()[job.entry].size + k_cost_of_opening;
}

std::optional<ReadJob> ReadQueue::next() {
  std::lock_guard lock{mutex_};
  const bool has_small = next_small_ < small_.size();
  const bool has_large = next_large_ < large_.size();
  if (!has_small && !has_large) return std::nullopt;
  // Division, since sizes near 2^63 times readers would overflow.
  const bool large_is_due = has_large && cost(large_[next_large_]) >= left_ / readers_;
  const ReadJob job =
      has_large && (large_is_due || !has_small) ? large_[next_large_++] : small_[next_small_++];
  left_ -= cost(job);
  return job;
}

void ReadQueue::close() {
  std::lock_guard lock{mutex_};
  next_small_ = small_.size();
  next_large_ = large_.size();
}

void read_files(std::deque<Sheet>& sheets, ReadQueue& queue, Ledger& ledger, const Stop& stop) {
  Reader reader{sheets, ledger, stop};
  while (const auto job = queue.next()) reader.read(*job);
}

}  // namespace decant::verify
