// SPDX-License-Identifier: Apache-2.0
// The peak of resident memory, as the kernel counts it.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "runs.hpp"
#include "support/catch.hpp"
#include "world.hpp"

using namespace decant;
using namespace decant::test;

namespace {

// 100 MiB that do not compress, as an archive in a file. In a child, which takes its memory with it.
void make_archive(const std::string& path, const std::string& prefix, const FrameOptions& options) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    TarBuilder tar;
    for (std::uint64_t i = 0; i < 100; ++i)
      tar.file(fmt::format("{}-{}", prefix, i), random_bytes(i + prefix.size() * 1000, k_mib));
    write_file(path, zstd_frame(tar.closed(), options));
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
}

long high_water_kib(pid_t pid) {
  std::ifstream in{fmt::format("/proc/{}/status", pid)};
  for (std::string word; in >> word;)
    if (word == "VmHWM:") {
      long kib = 0;
      in >> kib;
      return kib;
    }
  return 0;
}

// It only grows, so the last value seen is the peak but for the last moment.
long peak_of(const std::vector<std::string>& line) {
  Program program{line};
  long peak = 0;
  const auto look = [&] {
    peak = std::max(peak, high_water_kib(program.pid()));
    return program.has_ended();
  };
  while (!wait_until(look)) {
  }
  const auto outcome = program.wait();
  INFO(outcome.all());
  REQUIRE(outcome.code == 0);
  return peak;
}

}  // namespace

TEST_CASE("restore and verify of 200 MB stay below 256 MiB of memory") {
  if (!std::string_view{DECANT_SANITIZED}.empty()) {
    WARN("skipped: sanitizers need memory of their own");
    return;
  }
  work_in_memory();
  const World world;
  std::vector<Part> parts;
  for (const auto& [name, options] :
       {std::pair{"plain", FrameOptions{}}, std::pair{"long", FrameOptions{.window_log = 27}}}) {
    const auto path = world.cache() + "/" + name;
    make_archive(path, name, options);
    parts.push_back({.name = name,
                     .content = Content::from_file(path),
                     .where = R"("unpack": {"root": "bundle", "under": ""})",
                     .size = {},
                     .sha256 = {}});
  }
  TestHub hub;
  hub.add_repo({.id = "org/small"}).add_commit(repo_files(parts));
  constexpr long k_most = 256 * 1024;
  const auto restore = peak_of(world.restore(hub.endpoint()));
  const auto verify = peak_of(world.verify(false));
  WARN("peak of restore " << restore << " KiB, of verify " << verify << " KiB");
  CHECK(restore < k_most);
  CHECK(restore > 0);
  CHECK(verify < k_most);
  CHECK(verify > 0);
}
