// SPDX-License-Identifier: Apache-2.0
#include "decant/fs/read.hpp"

#include <fcntl.h>

#include <array>

#include "helpers.hpp"

namespace {

using namespace decant::fs;
using namespace decant::fs::test;

TEST_CASE("a read at an offset is as long as asked for, or ends with the file") {
  const TempDir dir;
  const std::string bytes = decant::test::random_bytes(1, 1000);
  write_file(dir / "f", bytes);
  const auto file = open_root(dir).open_file(rel("f"));
  std::array<std::byte, 600> buffer{};
  const auto read_at = [&](std::uint64_t offset) {
    const std::size_t size = pread_all(file.get(), buffer, offset, "f");
    return std::string{decant::as_text(decant::Bytes{buffer}.first(size))};
  };
  CHECK(read_at(0) == bytes.substr(0, 600));
  CHECK(read_at(100) == bytes.substr(100, 600));
  CHECK(read_at(700) == bytes.substr(700));
  CHECK(read_at(1000).empty());
  CHECK(pread_all(file.get(), {}, 0, "f") == 0);
}

TEST_CASE("what cannot be read is an error of kind disk that names the file") {
  const TempDir dir;
  const DirHandle root = open_root(dir);
  std::array<std::byte, 1> buffer{};
  const auto error = error_of([&] { pread_all(root.fd(), buffer, 0, "some\nfile"); });
  CHECK(error.kind() == decant::ErrorKind::disk);
  CHECK_THAT(error.what(), Catch::StartsWith("cannot read some\\x0afile"));
}

}  // namespace
