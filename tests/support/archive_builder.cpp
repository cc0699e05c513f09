// SPDX-License-Identifier: Apache-2.0
#include "support/archive_builder.hpp"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace decant::test {
namespace {

constexpr std::size_t k_block = 512;

std::string octal(std::uint64_t value, std::size_t width) {
  std::string text(width, '0');
  text.back() = '\0';
  for (std::size_t i = width - 1; i-- > 0; value >>= 3) text[i] = static_cast<char>('0' + (value & 7U));
  return text;
}

void put(std::string& block, std::size_t offset, std::string_view value, std::size_t width) {
  block.replace(offset, std::min(value.size(), width), value.substr(0, width));
}

std::uint64_t checksum(const std::string& block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i) {
    sum += i >= 148 && i < 156 ? static_cast<unsigned char>(' ') : static_cast<unsigned char>(block[i]);
  }
  return sum;
}

std::size_t check(std::size_t result) {
  if (ZSTD_isError(result) != 0U) throw std::runtime_error{ZSTD_getErrorName(result)};
  return result;
}

}  // namespace

TarBuilder& TarBuilder::file(std::string_view name, std::string_view content, unsigned mode) {
  return header({.name = std::string{name}, .size = content.size(), .mode = mode}).data(content);
}

TarBuilder& TarBuilder::dir(std::string_view name, unsigned mode) {
  return header({.name = std::string{name}, .type = '5', .mode = mode});
}

TarBuilder& TarBuilder::symlink(std::string_view name, std::string_view target) {
  return header({.name = std::string{name}, .type = '2', .link = std::string{target}, .mode = 0777});
}

TarBuilder& TarBuilder::hardlink(std::string_view name, std::string_view target) {
  return header({.name = std::string{name}, .type = '1', .link = std::string{target}});
}

TarBuilder& TarBuilder::header(const HeaderSpec& spec) {
  std::string block(k_block, '\0');
  put(block, 0, spec.name_field.value_or(spec.name), 100);
  put(block, 100, spec.mode_field.value_or(octal(spec.mode, 8)), 8);
  put(block, 108, octal(0, 8), 8);
  put(block, 116, octal(0, 8), 8);
  put(block, 124, spec.size_field.value_or(octal(spec.size, 12)), 12);
  put(block, 136, spec.mtime_field.value_or(octal(spec.mtime, 12)), 12);
  block[156] = spec.type;
  put(block, 157, spec.link, 100);
  put(block, 257, spec.magic, 8);
  put(block, 345, spec.prefix, 155);
  put(block, 148,
      octal(static_cast<std::uint64_t>(static_cast<std::int64_t>(checksum(block)) + spec.checksum_error), 7),
      7);
  block[155] = ' ';
  bytes_ += block;
  return *this;
}

TarBuilder& TarBuilder::data(std::string_view content) {
  bytes_ += content;
  bytes_.append((k_block - content.size() % k_block) % k_block, '\0');
  return *this;
}

TarBuilder& TarBuilder::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

TarBuilder& TarBuilder::pax(const std::vector<std::pair<std::string, std::string>>& records, char type) {
  std::string body;
  for (const auto& [key, value] : records) body += pax_record(key, value);
  return pax_body(body, type);
}

TarBuilder& TarBuilder::pax_body(std::string_view body, char type) {
  return header(
             {.name = type == 'g' ? "pax_global_header" : "PaxHeaders/x", .type = type, .size = body.size()})
      .data(body);
}

TarBuilder& TarBuilder::gnu_long(char type, std::string_view name) {
  std::string body{name};
  body += '\0';
  return header({.name = "././@LongLink", .type = type, .size = body.size(), .magic = k_magic_gnu})
      .data(body);
}

std::string TarBuilder::closed() const {
  return bytes_ + std::string(2 * k_block, '\0');
}

std::string pax_record(std::string_view key, std::string_view value) {
  const auto rest = 1 + key.size() + 1 + value.size() + 1;
  auto length = rest;
  while (length != rest + std::to_string(length).size()) length = rest + std::to_string(length).size();
  return std::to_string(length) + ' ' + std::string{key} + '=' + std::string{value} + '\n';
}

std::string base256(std::uint64_t value, std::size_t width) {
  std::string field(width, '\0');
  for (std::size_t i = width; i-- > 0; value >>= 8) field[i] = static_cast<char>(value & 0xffU);
  field[0] = static_cast<char>(field[0] | '\x80');
  return field;
}

std::string zstd_frame(std::string_view bytes, const FrameOptions& options) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context{ZSTD_createCCtx(), ZSTD_freeCCtx};
  check(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, options.level));
  check(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, options.checksum ? 1 : 0));
  check(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, options.content_size ? 1 : 0));
  if (options.window_log != 0)
    check(ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, options.window_log));
  std::string out(ZSTD_compressBound(bytes.size()) + 64, '\0');
  // As a stream, so that neither the size nor a single segment shrinks the window.
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  if (!options.content_size) check(ZSTD_compressStream2(context.get(), &to, &in, ZSTD_e_continue));
  check(ZSTD_compressStream2(context.get(), &to, &in, ZSTD_e_end));
  out.resize(to.pos);
  return out;
}

std::string zstd_frames(std::string_view bytes, std::size_t frame_size) {
  std::string out;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(frame_size, bytes.size()))) {
    out += zstd_frame(bytes.substr(0, frame_size));
  }
  return out;
}

std::string skippable_frame(std::string_view bytes, unsigned nibble) {
  std::string out{"\x50\x2a\x4d\x18", 4};
  out[0] = static_cast<char>(0x50 + nibble);
  for (std::size_t i = 0; i < 4; ++i) out += static_cast<char>(bytes.size() >> (8 * i) & 0xffU);
  return out.append(bytes);
}

StringSource::StringSource(std::string bytes, std::size_t piece)
    : StringSource{std::move(bytes), [piece] { return piece; }} {}

StringSource::StringSource(std::string bytes, std::function<std::size_t()> next_size)
    : bytes_{std::move(bytes)}, next_size_{std::move(next_size)} {}

BlockPtr StringSource::next() {
  if (at_ == bytes_.size()) return nullptr;
  const auto size = std::min(std::max<std::size_t>(next_size_(), 1), bytes_.size() - at_);
  auto block = std::make_shared<Block>(size, ByteBudget::Lease{});
  std::memcpy(block->storage().data(), bytes_.data() + at_, size);
  block->set_filled(size);
  at_ += size;
  return block;
}

}  // namespace decant::test
