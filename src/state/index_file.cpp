// SPDX-License-Identifier: Apache-2.0
#include "index_file.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <vector>

#include "decant/base/c_handle.hpp"
#include "decant/base/error.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::state {
namespace {

using Compressor = CHandle<ZSTD_freeCCtx>;
using Decompressor = CHandle<ZSTD_freeDCtx>;

constexpr int k_level = 3;
constexpr int k_window_log_max = 23;
constexpr std::uint64_t k_text_limit = 16ULL << 30;  // bounds time; memory is bounded by the digest

std::size_t check(std::size_t code, std::string_view call) {
  if (ZSTD_isError(code) != 0) {
    throw Error{ErrorKind::bug, fmt::format("{} failed: {}", call, ZSTD_getErrorName(code))};
  }
  return code;
}

// Exactly one frame to `sink`, piece by piece. False when the file is cut, damaged, longer or too large.
bool decode(int fd, std::string_view path, const std::function<void(std::string_view)>& sink) {
  const Decompressor context{ZSTD_createDCtx(), "ZSTD_createDCtx"};
  check(ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, k_window_log_max),
        "ZSTD_DCtx_setParameter");
  std::vector<char> in(ZSTD_DStreamInSize());
  std::vector<char> out(ZSTD_DStreamOutSize());
  off_t offset = 0;
  std::uint64_t total = 0;
  bool ended = false;
  for (;;) {
    const ssize_t got = ::pread(fd, in.data(), in.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno(errno, "read", path);
    if (got == 0) return ended;
    offset += got;
    ZSTD_inBuffer input{in.data(), static_cast<std::size_t>(got), 0};
    bool more = true;
    while (input.pos < input.size || more) {
      if (ended) return input.pos == input.size && ::pread(fd, in.data(), 1, offset) == 0;
      ZSTD_outBuffer output{out.data(), out.size(), 0};
      const std::size_t code = ZSTD_decompressStream(context.get(), &output, &input);
      if (ZSTD_isError(code) != 0) return false;
      ended = code == 0;
      more = output.pos == output.size;
      total += output.pos;
      if (total > k_text_limit) return false;
      sink({out.data(), output.pos});
    }
  }
}

}  // namespace

struct CompressingSink::Impl {
  explicit Impl(ByteSink& sink) : to{sink} {}

  void compress(Bytes text, ZSTD_EndDirective directive) {
    ZSTD_inBuffer input{text.data(), text.size(), 0};
    for (;;) {
      ZSTD_outBuffer output{piece.data(), piece.size(), 0};
      const std::size_t left =
          check(ZSTD_compressStream2(context.get(), &output, &input, directive), "ZSTD_compressStream2");
      if (output.pos > 0) to.write(Bytes{piece}.first(output.pos));
      if (directive == ZSTD_e_end ? left == 0 : input.pos == input.size) return;
    }
  }

  ByteSink& to;
  const Compressor context{ZSTD_createCCtx(), "ZSTD_createCCtx"};
  std::vector<std::byte> piece = std::vector<std::byte>(ZSTD_CStreamOutSize());
  hash::Hasher hasher;
};

CompressingSink::CompressingSink(ByteSink& to) : impl_{std::make_unique<Impl>(to)} {
  const auto set = [&](ZSTD_cParameter parameter, int value) {
    check(ZSTD_CCtx_setParameter(impl_->context.get(), parameter, value), "ZSTD_CCtx_setParameter");
  };
  set(ZSTD_c_compressionLevel, k_level);
  set(ZSTD_c_checksumFlag, 1);
}
CompressingSink::~CompressingSink() = default;

void CompressingSink::write(Bytes text) {
  impl_->hasher.update(text);
  impl_->compress(text, ZSTD_e_continue);
}

void CompressingSink::finish() {
  impl_->compress({}, ZSTD_e_end);
}

hash::Digest CompressingSink::digest() {
  return impl_->hasher.finish();
}

std::optional<std::string> read_compressed_text(const fs::DirHandle& dir, const fs::RelPath& path,
                                                const hash::Digest& expected) {
  const auto fd = dir.open_file_if_there(path);
  if (!fd) return std::nullopt;
  hash::Hasher hasher;
  std::uint64_t size = 0;
  const bool whole = decode(fd->get(), dir.path_of(path), [&](std::string_view piece) {
    hasher.update(as_bytes(piece));
    size += piece.size();
  });
  if (!whole || hasher.finish() != expected) return std::nullopt;
  std::string text;
  text.reserve(static_cast<std::size_t>(size));
  const bool again = decode(fd->get(), dir.path_of(path), [&](std::string_view piece) {
    text.append(piece.substr(0, static_cast<std::size_t>(size - text.size())));
  });
  // Somebody may have written to it in between.
  if (!again || hash::sha256(text) != expected) return std::nullopt;
  return text;
}

}  // namespace decant::state
