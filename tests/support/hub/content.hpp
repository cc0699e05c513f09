// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace decant::test {

// The bytes of one object of the test hub: in memory, in a file that is read as it is served, or made from a
// seed. Cheap to copy; immutable. Digests are computed once, when first asked for.
class Content {
 public:
  Content() : Content{std::string{}} {}
  Content(std::string bytes);  // NOLINT(google-explicit-constructor): so that {"path", "text"} reads well
  Content(const char* text) : Content{std::string{text}} {}  // NOLINT(google-explicit-constructor)
  static Content from_file(const std::string& path);
  // `size` bytes that do not compress, the same for the same seed; nothing is held in memory.
  static Content generated(std::uint64_t seed, std::uint64_t size);

  std::uint64_t size() const;
  // Fills `out` from `offset`; false when the file behind it got shorter.
  bool read(std::uint64_t offset, std::span<char> out) const;
  std::string sha256() const;    // hex of the content
  std::string git_sha1() const;  // git blob id of the content
  std::string text() const;      // all of it

 private:
  struct Data;
  explicit Content(std::shared_ptr<Data> data) : data_{std::move(data)} {}
  std::shared_ptr<Data> data_;
};

std::string sha256_hex(std::string_view text);
std::string git_blob_id(std::string_view text);

}  // namespace decant::test
