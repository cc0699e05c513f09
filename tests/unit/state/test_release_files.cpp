// SPDX-License-Identifier: Apache-2.0
#include <zstd.h>

#include "state_support.hpp"

using namespace decant;
using namespace decant::state;
using namespace decant::state::test;

namespace {

constexpr const char* k_index_file = ".decant/release/p.index.jsonl.zst";

std::string compress(std::string_view text, int level) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), level));
  return out;
}

}  // namespace

TEST_CASE("the manifest is kept byte for byte and read only with the wanted digest") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  const std::string bytes = "{ \"any\" : \"bytes\" }\n\0x";
  CHECK_FALSE(bundle.read_manifest(hash::sha256(bytes)));
  bundle.write_manifest(bytes);
  CHECK(bundle.read_manifest(hash::sha256(bytes)) == bytes);
  CHECK_FALSE(bundle.read_manifest(lock_of('1')));
  write_file(dir / ".decant/release/release_manifest.json", bytes + "x");
  CHECK_FALSE(bundle.read_manifest(hash::sha256(bytes)));
}

TEST_CASE("an index is read back, and the same index gives the same bytes") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  const model::PartIndex index = sample_index(5000);
  const hash::Digest digest = bundle.write_index("p", index);
  CHECK(digest == hash::sha256(model::to_jsonl(index)));
  CHECK(model::to_jsonl(bundle.read_index("p", digest).value()) == model::to_jsonl(index));
  const std::string bytes = read_file(dir / k_index_file);
  bundle.write_index("p", index);
  CHECK(read_file(dir / k_index_file) == bytes);
  CHECK_FALSE(bundle.read_index("q", digest));
  CHECK_FALSE(bundle.read_index("p", lock_of('1')));
}

TEST_CASE("a damaged index reads as absent") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  const model::PartIndex index = sample_index(5000);
  const hash::Digest digest = bundle.write_index("p", index);
  const std::string good = read_file(dir / k_index_file);
  std::string bad = good;
  SECTION("empty") {
    bad.clear();
  }
  SECTION("cut in the middle") {
    bad.resize(bad.size() / 2);
  }
  SECTION("cut by one byte") {
    bad.pop_back();
  }
  SECTION("a byte flipped") {
    bad[bad.size() / 2] = static_cast<char>(bad[bad.size() / 2] ^ 1);
  }
  SECTION("bytes after the end") {
    bad += 'x';
  }
  SECTION("twice") {
    bad += good;
  }
  SECTION("not compressed") {
    bad = model::to_jsonl(index);
  }
  write_file(dir / k_index_file, bad);
  CHECK_FALSE(bundle.read_index("p", digest));
}

TEST_CASE("an index that decodes to far more than promised is not kept in memory") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  bundle.write_index("p", sample_index(1));
  write_file(dir / k_index_file, compress(std::string(200'000'000, '0'), 19));
  CHECK_FALSE(bundle.read_index("p", lock_of('1')));
}

TEST_CASE("an index text that is no index reads as absent, whatever its digest") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  bundle.write_index("p", sample_index(1));
  write_file(dir / k_index_file, compress("hello\n", 3));
  CHECK_FALSE(bundle.read_index("p", hash::sha256("hello\n")));
}
