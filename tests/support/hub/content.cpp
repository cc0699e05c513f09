// SPDX-License-Identifier: Apache-2.0
#include "support/hub/content.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "decant/base/fd.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::test {
namespace {

// splitmix64, one step from an arbitrary state, so that any offset can be read without what comes before.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

std::string digest_of(std::string_view text, hash::Algorithm algorithm) {
  hash::Hasher hasher{algorithm, text.size()};
  hasher.update(as_bytes(text));
  return hasher.finish().hex();
}

}  // namespace

struct Content::Data {
  std::string bytes;
  Fd file;
  std::uint64_t seed = 0;
  std::uint64_t size = 0;
  enum class Kind : std::uint8_t { memory, file, generated } kind = Kind::memory;
  std::mutex mutex;  // of the two below
  std::string sha256;
  std::string git_sha1;

  bool read(std::uint64_t offset, std::span<char> out) const {
    if (offset > size || out.size() > size - offset) return false;
    if (kind == Kind::memory) {
      if (!out.empty()) std::memcpy(out.data(), bytes.data() + offset, out.size());
      return true;
    }
    if (kind == Kind::generated) {
      for (std::size_t done = 0; done < out.size();) {
        const std::uint64_t at = offset + done;
        const std::uint64_t word = mix(seed * 0x2545f4914f6cdd1dU + at / 8);
        const std::size_t skip = at % 8;
        const std::size_t n = std::min<std::size_t>(8 - skip, out.size() - done);
        std::memcpy(out.data() + done, reinterpret_cast<const char*>(&word) + skip, n);
        done += n;
      }
      return true;
    }
    while (!out.empty()) {
      const ssize_t n = ::pread(file.get(), out.data(), out.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      offset += static_cast<std::uint64_t>(n);
      out = out.subspan(static_cast<std::size_t>(n));
    }
    return true;
  }

  std::string digest(hash::Algorithm algorithm) const {
    hash::Hasher hasher{algorithm, size};
    std::vector<char> buffer(std::min<std::uint64_t>(size, k_mib));
    for (std::uint64_t at = 0; at < size;) {
      const std::span piece{buffer.data(), std::min<std::uint64_t>(size - at, buffer.size())};
      if (!read(at, piece)) throw std::runtime_error{"test hub: a served file became shorter"};
      hasher.update(std::as_bytes(piece));
      at += piece.size();
    }
    return hasher.finish().hex();
  }
};

Content::Content(std::string bytes) : data_{std::make_shared<Data>()} {
  data_->size = bytes.size();
  data_->bytes = std::move(bytes);
}

Content Content::from_file(const std::string& path) {
  auto data = std::make_shared<Data>();
  data->kind = Data::Kind::file;
  data->file = Fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat facts {};
  if (!data->file || ::fstat(data->file.get(), &facts) != 0) {
    throw std::runtime_error{"test hub: cannot open " + path + ": " + std::strerror(errno)};
  }
  data->size = static_cast<std::uint64_t>(facts.st_size);
  return Content{std::move(data)};
}

Content Content::generated(std::uint64_t seed, std::uint64_t size) {
  auto data = std::make_shared<Data>();
  data->kind = Data::Kind::generated;
  data->seed = seed;
  data->size = size;
  return Content{std::move(data)};
}

std::uint64_t Content::size() const {
  return data_->size;
}

bool Content::read(std::uint64_t offset, std::span<char> out) const {
  return data_->read(offset, out);
}

std::string Content::sha256() const {
  const std::lock_guard lock{data_->mutex};
  if (data_->sha256.empty()) data_->sha256 = data_->digest(hash::Algorithm::sha256);
  return data_->sha256;
}

std::string Content::git_sha1() const {
  const std::lock_guard lock{data_->mutex};
  if (data_->git_sha1.empty()) data_->git_sha1 = data_->digest(hash::Algorithm::git_sha1);
  return data_->git_sha1;
}

std::string Content::text() const {
  std::string all(size(), '\0');
  if (!read(0, all)) throw std::runtime_error{"test hub: a served file became shorter"};
  return all;
}

std::string sha256_hex(std::string_view text) {
  return digest_of(text, hash::Algorithm::sha256);
}
std::string git_blob_id(std::string_view text) {
  return digest_of(text, hash::Algorithm::git_sha1);
}

}  // namespace decant::test
