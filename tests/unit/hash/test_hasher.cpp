// SPDX-License-Identifier: Apache-2.0
#include "decant/hash/hasher.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "decant/base/error.hpp"
#include "decant/base/fd.hpp"
#include "decant/base/stop.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

namespace {

using decant::as_bytes;
using decant::Error;
using decant::ErrorKind;
using decant::hash::Algorithm;
using decant::hash::Hasher;

constexpr const char* k_sha256_empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* k_sha256_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

decant::Fd open_file(const std::string& path) {
  return decant::Fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
}

ErrorKind kind_of_failure(int fd, std::uint64_t size) {
  try {
    decant::hash::hash_file(fd, size, Algorithm::sha256, "file");
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::bug;
}

TEST_CASE("SHA-256 gives the numbers of FIPS 180-4") {
  CHECK(decant::hash::sha256(std::string_view{}).hex() == k_sha256_empty);
  CHECK(decant::hash::sha256("abc").hex() == k_sha256_abc);
  CHECK(decant::hash::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").hex() ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST_CASE("the git blob id is what git hash-object prints") {
  Hasher hasher{Algorithm::git_sha1, 0};
  CHECK(hasher.finish().hex() == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  hasher.reset(Algorithm::git_sha1, 6);
  hasher.update(as_bytes("hel"));
  hasher.update(as_bytes("lo\n"));
  CHECK(hasher.finish().hex() == "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST_CASE("a hasher is used again, also for another algorithm and when moved") {
  Hasher hasher;
  hasher.update(as_bytes("left over"));
  hasher.reset();
  hasher.update(as_bytes("abc"));
  CHECK(hasher.finish().hex() == k_sha256_abc);
  hasher.reset(Algorithm::git_sha1, 0);
  Hasher moved{std::move(hasher)};
  CHECK(moved.finish().hex() == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  moved = Hasher{};
  CHECK(moved.finish().hex() == k_sha256_empty);
}

TEST_CASE("hashers in many threads do not disturb each other") {
  std::vector<std::thread> threads;
  std::vector<std::string> digests(4);
  for (std::string& digest : digests) {
    threads.emplace_back([&digest] { digest = decant::hash::sha256("abc").hex(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& digest : digests) CHECK(digest == k_sha256_abc);
}

TEST_CASE("a file is hashed from its start, whatever its read position") {
  const decant::test::TempDir dir;
  for (const std::size_t size : {0UL, 1UL, 1048575UL, 1048576UL, 1048577UL, 3000000UL}) {
    const std::string bytes = decant::test::random_bytes(size, size);
    decant::test::write_file(dir / "f", bytes);
    const decant::Fd fd = open_file(dir / "f");
    ::lseek(fd.get(), 1, SEEK_SET);
    CHECK(decant::hash::hash_file(fd.get(), size, Algorithm::sha256, "f") == decant::hash::sha256(bytes));
  }
}

TEST_CASE("a stop request ends the hashing of a file") {
  const decant::test::TempDir dir;
  decant::test::write_file(dir / "f", "12345");
  const decant::Fd fd = open_file(dir / "f");
  decant::Stop stop;
  CHECK(decant::hash::hash_file(fd.get(), 5, Algorithm::sha256, "f", stop) == decant::hash::sha256("12345"));
  stop.request(2);
  CHECK_THROWS_AS(decant::hash::hash_file(fd.get(), 5, Algorithm::sha256, "f", stop), decant::Interrupted);
}

TEST_CASE("a file of another size is an integrity error, one that cannot be read a disk error") {
  const decant::test::TempDir dir;
  decant::test::write_file(dir / "f", "12345");
  const decant::Fd fd = open_file(dir / "f");
  CHECK(kind_of_failure(fd.get(), 4) == ErrorKind::integrity);
  CHECK(kind_of_failure(fd.get(), 6) == ErrorKind::integrity);
  CHECK(kind_of_failure(fd.get(), 0) == ErrorKind::integrity);
  CHECK(kind_of_failure(open_file(dir.path()).get(), 5) == ErrorKind::disk);
}

}  // namespace
