// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decant/base/stream.hpp"

namespace decant::test {

inline constexpr std::string_view k_magic_ustar{
    "ustar\0"
    "00",
    8};
inline constexpr std::string_view k_magic_gnu{"ustar  \0", 8};
inline constexpr std::string_view k_magic_v7{"\0\0\0\0\0\0\0\0", 8};

// One tar header, right or wrong: a *_field replaces the bytes of that field as they are.
struct HeaderSpec {
  std::string name;
  char type = '0';
  std::string link;
  std::uint64_t size = 0;
  unsigned mode = 0644;
  std::uint64_t mtime = 1'700'000'000;
  std::string prefix;
  std::string_view magic = k_magic_ustar;
  std::optional<std::string> size_field;
  std::optional<std::string> mtime_field;
  std::optional<std::string> mode_field;
  std::optional<std::string> name_field;
  int checksum_error = 0;  // added to the right checksum
};

// Writes a tar stream piece by piece, in any order, complete or not.
class TarBuilder {
 public:
  TarBuilder& file(std::string_view name, std::string_view content, unsigned mode = 0644);
  TarBuilder& dir(std::string_view name, unsigned mode = 0755);
  TarBuilder& symlink(std::string_view name, std::string_view target);
  TarBuilder& hardlink(std::string_view name, std::string_view target);

  TarBuilder& header(const HeaderSpec& spec);
  TarBuilder& data(std::string_view content);  // padded to whole blocks
  TarBuilder& raw(std::string_view bytes);
  TarBuilder& pax(const std::vector<std::pair<std::string, std::string>>& records, char type = 'x');
  TarBuilder& pax_body(std::string_view body, char type = 'x');
  TarBuilder& gnu_long(char type, std::string_view name);  // 'L' or 'K'

  const std::string& bytes() const { return bytes_; }
  std::string closed() const;  // with the two zero blocks

 private:
  std::string bytes_;
};

std::string pax_record(std::string_view key, std::string_view value);
std::string base256(std::uint64_t value, std::size_t width = 12);  // positive, GNU form

struct FrameOptions {
  int level = 3;
  bool checksum = true;
  int window_log = 0;  // 0: as the level has it
  bool content_size = true;
};
std::string zstd_frame(std::string_view bytes, const FrameOptions& options = {});
std::string zstd_frames(std::string_view bytes, std::size_t frame_size);  // independent frames
std::string skippable_frame(std::string_view bytes, unsigned nibble = 0);

// Gives `bytes` out in pieces whose sizes `next_size` decides (at least 1).
class StringSource : public BlockSource {
 public:
  explicit StringSource(std::string bytes, std::size_t piece = 64 * 1024);
  StringSource(std::string bytes, std::function<std::size_t()> next_size);
  BlockPtr next() override;

 private:
  std::string bytes_;
  std::size_t at_ = 0;
  std::function<std::size_t()> next_size_;
};

}  // namespace decant::test
