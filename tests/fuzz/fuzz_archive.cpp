// SPDX-License-Identifier: Apache-2.0
// Any bytes as a part: either refused with an Error or read with every promise of EntrySink kept. The first
// byte says whether the rest is a tar stream or zstd data, and how it is cut into blocks.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "decant/archive/archive.hpp"
#include "tar_reader.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace decant;

constexpr std::size_t k_block = 512;
constexpr std::size_t k_checksum = 148;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

class PieceSource : public BlockSource {
 public:
  PieceSource(Bytes bytes, std::size_t piece) : left_{bytes}, piece_{piece} {}
  BlockPtr next() override {
    if (left_.empty()) return nullptr;
    const auto size = std::min(piece_, left_.size());
    auto block = std::make_shared<Block>(size, ByteBudget::Lease{});
    std::memcpy(block->storage().data(), left_.data(), size);
    block->set_filled(size);
    left_ = left_.subspan(size);
    return block;
  }

 private:
  Bytes left_;
  std::size_t piece_;
};

class Judge : public archive::EntrySink {
 public:
  void entry(const archive::ArchiveEntry& entry) override {
    require(!open_, "an entry begins inside another");
    require(entry.number == ++number_, "entries are numbered in order");
    const auto& path = entry.path.str();
    require(path.empty() || path.front() != '/', "no absolute path");
    require(("/" + path + "/").find("/../") == std::string::npos, "no parent in a path");
    require(path.find_first_of(std::string_view{"\0\\\n\x1b", 4}) == std::string::npos,
            "no strange characters");
    require(entry.kind == archive::EntryKind::file || entry.size == 0, "only files have data");
    open_ = true;
    left_ = entry.size;
  }
  void data(BlockSpan span) override {
    require(open_ && !span.bytes.empty() && span.bytes.size() <= left_, "data fits its entry");
    left_ -= span.bytes.size();
  }
  void entry_end() override {
    require(open_ && left_ == 0, "an entry ends with all its data");
    open_ = false;
  }
  void finish(const archive::ArchiveSummary& summary) const {
    require(!open_ && summary.entries == number_, "every entry ends");
  }

 private:
  bool open_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t left_ = 0;
};

void put(std::uint8_t* block, std::size_t offset, const char* text) {
  std::memcpy(block + offset, text, std::strlen(text));
}

void fix_checksum(std::uint8_t* block) {
  unsigned sum = 8 * ' ';
  for (std::size_t i = 0; i < k_block; ++i) sum += i >= k_checksum && i < k_checksum + 8 ? 0U : block[i];
  std::array<char, 8> field{};
  std::snprintf(field.data(), field.size(), "%06o", sum);
  std::memcpy(block + k_checksum, field.data(), field.size());
}

// A PAX header, the file it belongs to, a link, and the end.
std::size_t sample(std::uint8_t* data, std::size_t max_size) {
  constexpr std::size_t k_blocks = 7;
  if (max_size < 1 + k_blocks * k_block) return 0;
  std::memset(data, 0, 1 + k_blocks * k_block);
  const auto header = [&](std::size_t index, const char* name, char type, const char* size) {
    auto* block = data + 1 + index * k_block;
    put(block, 0, name);
    put(block, 100, "0000644");
    put(block, 124, size);
    put(block, 136, "00000000001");
    block[156] = static_cast<std::uint8_t>(type);
    put(block, 257, "ustar");
    put(block, 263, "00");
    return block;
  };
  fix_checksum(header(0, "x", 'x', "00000000020"));
  put(data + 1 + k_block, 0, "16 path=pax/abc\n");
  fix_checksum(header(2, "a", '0', "00000000005"));
  put(data + 1 + 3 * k_block, 0, "hello");
  auto* link = header(4, "l", '2', "00000000000");
  put(link, 157, "pax/abc");
  fix_checksum(link);
  return 1 + k_blocks * k_block;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const unsigned choice = data[0];
  const auto bytes = std::as_bytes(std::span{data + 1, size - 1});
  PieceSource source{bytes, (choice & 0x7eU) == 0 ? std::size_t{1} << 20 : (choice & 0x7eU) * 13U};
  archive::Rules rules;
  rules.allow_non_utf8 = (choice & 0x80U) != 0;
  rules.max_window_log = 20;
  Judge judge;
  const Stop stop;
  try {
    if ((choice & 1U) == 0) {
      judge.finish(archive::read_tar(source, rules, judge, stop));
    } else {
      rules.max_bytes = 1 << 20;
      ByteBudget budget{4 * k_mib};
      judge.finish(archive::read_archive(source, rules, judge, budget, stop));
    }
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::integrity, "bad archives are errors of kind integrity");
  }
  return 0;
}

// Random bytes rarely have a right checksum; mostly it is put right after each mutation.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  std::minstd_rand random{seed};
  if (size < 2 && random() % 2 == 0) return sample(data, max_size);
  size = LLVMFuzzerMutate(data, size, max_size);
  if (size == 0 || (data[0] & 1U) != 0 || random() % 8 == 0) return size;
  for (std::size_t at = 1; at + k_block <= size; at += k_block) {
    if (std::memcmp(data + at + 257, "ustar", 5) == 0) fix_checksum(data + at);
  }
  return size;
}
