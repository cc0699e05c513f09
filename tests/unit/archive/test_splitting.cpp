// SPDX-License-Identifier: Apache-2.0
// Where blocks end must not matter: neither for what is read nor for what is refused.
#include <random>
#include <string>

#include "recorder.hpp"
#include "support/archive_builder.hpp"
#include "support/catch.hpp"
#include "tar_reader.hpp"

namespace decant {
namespace {

using test::TarBuilder;

std::string sample(std::mt19937_64& random) {
  TarBuilder tar;
  if (random() % 3 == 0) tar.pax({{"comment", "c0ffee"}}, 'g');
  const auto entries = 1 + random() % 12;
  for (std::uint64_t i = 0; i < entries; ++i) {
    const auto name = "n" + std::to_string(i);
    const std::string content(random() % 3000, static_cast<char>('a' + i));
    switch (random() % 6) {
      case 0:
        tar.dir(name + "/");
        break;
      case 1:
        tar.symlink(name, "n0");
        break;
      case 2:
        tar.pax({{"path", name + "-\xc3\xa9"}, {"mtime", "12.5"}}).file("x", content);
        break;
      case 3:
        tar.gnu_long('L', name + std::string(150, 'l'))
            .header({.name = name, .size = content.size()})
            .data(content);
        break;
      case 4:
        tar.hardlink(name, "n0");
        break;
      default:
        tar.file(name, content, random() % 2 == 0 ? 0644U : 0755U);
    }
  }
  auto bytes = tar.closed();
  bytes.append(random() % 4 * 512, '\0');
  // Some of them damaged anywhere.
  if (random() % 3 == 0) bytes[random() % bytes.size()] ^= static_cast<char>(1U << random() % 8);
  if (random() % 5 == 0) bytes.resize(random() % bytes.size());
  return bytes;
}

std::string outcome(const std::string& tar, const std::function<std::size_t()>& next_size) {
  test::StringSource source{tar, next_size};
  test::Recorder recorder;
  std::string text;
  try {
    const auto summary = archive::read_tar(source, {}, recorder, Stop{});
    for (const auto& entry : recorder.entries) text += test::describe(entry) + '\n';
    text += std::to_string(summary.tar_bytes);
  } catch (const Error& error) {
    text = error.what();
  }
  return text;
}

TEST_CASE("block boundaries change nothing") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const auto tar = sample(random);
    const auto whole = outcome(tar, [&] { return tar.size() + 1; });
    CHECK(outcome(tar, [] { return std::size_t{1}; }) == whole);
    CHECK(outcome(tar, [&] { return 1 + random() % 700; }) == whole);
    CHECK(outcome(tar, [&] { return 1 + random() % 5000; }) == whole);
  }
}

}  // namespace
}  // namespace decant
