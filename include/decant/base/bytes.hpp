// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace decant {

using Bytes = std::span<const std::byte>;

inline Bytes as_bytes(std::string_view text) {
  return std::as_bytes(std::span{text.data(), text.size()});
}
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline constexpr std::uint64_t k_kib = 1024;
inline constexpr std::uint64_t k_mib = 1024 * k_kib;
inline constexpr std::uint64_t k_gib = 1024 * k_mib;

// A half-open range of an object: [offset, offset + length).
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t end() const { return offset + length; }
  bool operator==(const ByteRange&) const = default;
};

// Decimal units as the hub and disk makers use them: "999 B", "1.4 GB", "213 MB".
std::string format_size(std::uint64_t bytes);
// "48,211".
std::string format_count(std::uint64_t count);
// "1 entry", "48,211 entries".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many);
// "42 s", "3 min 07 s", "2 h 05 min".
std::string format_duration(std::uint64_t seconds);
// "192M", "1.5G", "64KiB", "1000000"; K M G T are powers of 1024, KB MB GB TB of 1000. nullopt for anything
// else or past 2^63-1.
std::optional<std::uint64_t> parse_size(std::string_view text);
// Plain decimal digits that fit 64 bits, nothing else.
std::optional<std::uint64_t> parse_u64(std::string_view text);

// Where bytes go, piece by piece, in order. write() may throw.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(Bytes bytes) = 0;
};

}  // namespace decant
