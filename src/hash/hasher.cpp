// SPDX-License-Identifier: Apache-2.0
#include "decant/hash/hasher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "decant/base/c_handle.hpp"
#include "decant/base/error.hpp"
#include "decant/base/stop.hpp"
#include "decant/base/text.hpp"

namespace decant::hash {
namespace {

using DigestContext = CHandle<EVP_MD_CTX_free>;

void check(int result, std::string_view call) {
  if (result != 1) throw Error{ErrorKind::bug, fmt::format("{} of OpenSSL failed", call)};
}

const EVP_MD* fetch(const char* name) {
  const EVP_MD* md = EVP_MD_fetch(nullptr, name, nullptr);
  if (md == nullptr) throw Error{ErrorKind::bug, fmt::format("OpenSSL offers no {}", name)};
  return md;
}

// Looked up once: a fetch costs more than hashing a small file. Never freed, as OpenSSL may end before
// statics do.
const EVP_MD* message_digest(Algorithm algorithm) {
  if (algorithm == Algorithm::sha256) {
    static const EVP_MD* const sha256 = fetch("SHA2-256");
    return sha256;
  }
  static const EVP_MD* const sha1 = fetch("SHA1");
  return sha1;
}

}  // namespace

struct Hasher::Impl {
  DigestContext context{EVP_MD_CTX_new(), "EVP_MD_CTX_new"};
  Algorithm algorithm = Algorithm::sha256;
};

Hasher::Hasher(Algorithm algorithm, std::uint64_t size) : impl_{std::make_unique<Impl>()} {
  reset(algorithm, size);
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::update(Bytes bytes) {
  check(EVP_DigestUpdate(impl_->context.get(), bytes.data(), bytes.size()), "EVP_DigestUpdate");
}

Digest Hasher::finish() {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> bytes{};
  check(EVP_DigestFinal_ex(impl_->context.get(), bytes.data(), nullptr), "EVP_DigestFinal_ex");
  return Digest::from_bytes(impl_->algorithm, bytes.data());
}

void Hasher::reset(Algorithm algorithm, std::uint64_t size) {
  impl_->algorithm = algorithm;
  check(EVP_DigestInit_ex2(impl_->context.get(), message_digest(algorithm), nullptr), "EVP_DigestInit_ex2");
  if (algorithm == Algorithm::git_sha1) {
    std::string header = fmt::format("blob {}", size);
    header += '\0';
    update(as_bytes(header));
  }
}

Digest sha256(Bytes bytes) {
  Hasher hasher;
  hasher.update(bytes);
  return hasher.finish();
}

Digest sha256(std::string_view text) {
  return sha256(as_bytes(text));
}

Digest hash_file(int fd, std::uint64_t size, Algorithm algorithm, std::string_view path) {
  return hash_file(fd, size, algorithm, path, Stop{});
}

Digest hash_file(int fd, std::uint64_t size, Algorithm algorithm, std::string_view path, const Stop& stop) {
  const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(size + 1, k_mib));
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(piece);
  Hasher hasher{algorithm, size};
  std::uint64_t done = 0;
  if (size > k_mib) ::posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  for (;;) {
    stop.throw_if_requested();
    // One byte more than is left, so that a file that goes on shows.
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(piece, size - done + 1));
    const ssize_t got = ::pread(fd, buffer.get(), want, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(errno, "read", path);
    const auto count = static_cast<std::uint64_t>(got);
    if (count == 0 && done == size) return hasher.finish();
    if (count == 0 || count > size - done) {
      throw Error{Problem{.kind = ErrorKind::integrity,
                          .thing = fmt::format("{}: the file has another size", escape_for_display(path)),
                          .expected = fmt::format("{} bytes", size),
                          .found = count == 0 ? fmt::format("{} bytes", done) : "more",
                          .hint = "something changes it: find out what, then run the same line again"}};
    }
    hasher.update({buffer.get(), static_cast<std::size_t>(count)});
    done += count;
  }
}

}  // namespace decant::hash
