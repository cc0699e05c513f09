// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "decant/ui/ui.hpp"
#include "support/catch.hpp"

using namespace decant;

TEST_CASE("a stream whose reader has gone is silent and ends nothing") {
  const auto before = std::signal(SIGPIPE, SIG_IGN);  // as main does
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const auto stream = ui::fd_stream(ends[1]);
  stream->write("first");
  std::array<char, 16> buffer{};
  CHECK(::read(ends[0], buffer.data(), buffer.size()) == 5);
  ::close(ends[0]);
  stream->write("second");
  stream->write("third");
  CHECK_FALSE(stream->is_terminal());
  CHECK(stream->columns() == 80);
  ::close(ends[1]);
  std::signal(SIGPIPE, before);
}
