// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/hub/content.hpp"
#include "support/temp_dir.hpp"

using namespace decant::test;

TEST_CASE("content digests are those of sha256sum and git hash-object") {
  CHECK(Content{""}.sha256() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(Content{""}.git_sha1() == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  CHECK(Content{"Hello, World!"}.git_sha1() == "b45ef6fec89518d314f546fd6c3025367b721684");
}

TEST_CASE("generated content is the same from any offset") {
  const Content content = Content::generated(7, 1000);
  const std::string all = content.text();
  for (const std::size_t offset : {1U, 7U, 8U, 9U, 500U}) {
    std::string piece(300, '\0');
    REQUIRE(content.read(offset, piece));
    CHECK(piece == all.substr(offset, 300));
  }
  std::string past(2, '\0');
  CHECK_FALSE(content.read(999, past));
  CHECK(Content::generated(8, 1000).text() != all);
}

TEST_CASE("content of a file is read as it is served") {
  TempDir dir;
  write_file(dir / "f", "0123456789");
  const Content content = Content::from_file(dir / "f");
  CHECK(content.size() == 10);
  CHECK(content.sha256() == sha256_hex("0123456789"));
  write_file(dir / "f", "short");
  std::string piece(10, '\0');
  CHECK_FALSE(content.read(0, piece));
  CHECK_THROWS_AS(Content::from_file(dir / "none"), std::runtime_error);
}
