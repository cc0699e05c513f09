// SPDX-License-Identifier: Apache-2.0
#include "ramp.hpp"

#include <functional>

#include "support/catch.hpp"

using namespace decant::fetch;
using std::chrono::milliseconds;

namespace {

// A line that brings rate(connections) bytes a second, looked at every 50 ms with all connections busy.
struct Line {
  std::function<double(int)> rate;
  Ramp ramp{16};
  Ramp::Time now{std::chrono::hours{10}};
  double bytes = 0;
  int most = 0;

  void run(milliseconds time) {
    for (const auto end = now + time; now < end; now += milliseconds{50}) {
      bytes += rate(ramp.allowed()) / 20;
      ramp.look(now, static_cast<std::uint64_t>(bytes), ramp.allowed());
      most = std::max(most, ramp.allowed());
    }
  }
};

}  // namespace

TEST_CASE("a line that gives each connection its share is used to the bound within about a second") {
  Line line{[](int connections) { return 4e6 * connections; }};
  CHECK(line.ramp.allowed() == 4);
  line.run(milliseconds{1200});
  CHECK(line.ramp.allowed() == 16);
  line.run(milliseconds{60'000});
  CHECK(line.ramp.allowed() == 16);
}

TEST_CASE("where more connections bring nothing, few stay") {
  Line line{[](int) { return 1e9; }};
  line.run(milliseconds{1500});
  CHECK(line.ramp.allowed() == 4);
  line.run(milliseconds{600'000});
  CHECK(line.ramp.allowed() <= 8);  // a trial now and then
  CHECK(line.most == 8);
}

TEST_CASE("a line is used up to what it gives in all") {
  Line line{[](int connections) { return std::min(4e6 * connections, 28e6); }};
  line.run(milliseconds{2000});
  CHECK(line.ramp.allowed() == 8);
}

TEST_CASE("a line that gets better later is noticed") {
  bool better = false;
  Line line{[&](int connections) { return better ? 4e6 * connections : 8e6; }};
  line.run(milliseconds{3000});
  CHECK(line.ramp.allowed() == 4);
  better = true;
  line.run(milliseconds{60'000});
  CHECK(line.ramp.allowed() == 16);
}

TEST_CASE("the given number is the most, also when it is odd or one") {
  for (const int most : {1, 2, 3, 5, 7, 64}) {
    CAPTURE(most);
    Line line{[](int connections) { return 4e6 * connections; }, Ramp{most}};
    CHECK(line.ramp.allowed() <= most);
    line.run(milliseconds{5000});
    CHECK(line.ramp.allowed() == most);
    CHECK(line.most == most);
  }
}

TEST_CASE("connections without work teach nothing") {
  Ramp ramp{16};
  Ramp::Time now{std::chrono::hours{10}};
  for (int i = 0; i < 100; ++i)
    ramp.look(now += milliseconds{50}, static_cast<std::uint64_t>(i) * 1'000'000, 3);
  CHECK(ramp.allowed() == 4);
}

TEST_CASE("before the first byte nothing is compared") {
  Ramp ramp{16};
  Ramp::Time now{std::chrono::hours{10}};
  for (int i = 0; i < 100; ++i) ramp.look(now += milliseconds{50}, 0, 4);
  CHECK(ramp.allowed() == 4);
}

TEST_CASE("a server that asks for a pause gets half of the connections, for a while") {
  Line line{[](int connections) { return 4e6 * connections; }};
  line.run(milliseconds{2000});
  REQUIRE(line.ramp.allowed() == 16);
  line.ramp.push_back(line.now);
  CHECK(line.ramp.allowed() == 8);
  line.run(milliseconds{30'000});
  CHECK(line.ramp.allowed() == 8);
  line.run(milliseconds{60'000});
  CHECK(line.ramp.allowed() == 16);
  for (int i = 0; i < 10; ++i) line.ramp.push_back(line.now);
  CHECK(line.ramp.allowed() == 1);
}
