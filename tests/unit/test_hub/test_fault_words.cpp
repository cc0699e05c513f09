// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "support/catch.hpp"
#include "support/hub/faults.hpp"

using namespace decant::test;

TEST_CASE("a fault is read from words") {
  const Fault fault = parse_fault(
      "cdn  method=GET path=*a%20b* covers=9 skip=1 times=2 status=503 header=Retry-After:7 header=ETag: "
      "body=no%0A");
  CHECK(fault.where == Where::cdn);
  CHECK(fault.method == "GET");
  CHECK(fault.path == "*a b*");
  CHECK(fault.covers == 9);
  CHECK(fault.skip == 1);
  CHECK(fault.times == 2);
  CHECK(fault.status == 503);
  CHECK(fault.headers == decltype(fault.headers){{"Retry-After", "7"}, {"ETag", ""}});
  CHECK(fault.body == "no\n");
  const Fault other = parse_fault(
      "hub cut_after=3 cut=fin stall_after=4 stall_ms=5 rate=6 flip_at=7 ignore_range "
      "resize=-8 no_length close delay_ms=9 refuse_ms=10 redirect=http://x/");
  CHECK(other.where == Where::hub);
  CHECK(other.cut == CutWith::fin);
  CHECK(other.resize == -8);
  CHECK(other.redirect_to == "http://x/");
  CHECK(other.refuse_for == std::chrono::milliseconds{10});
}

TEST_CASE("wrong words of a fault are refused") {
  for (const char* text : {"teapot", "status=", "status=x", "skip=-1", "cut=hard", "header=none"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_fault(text), std::invalid_argument);
  }
}

TEST_CASE("which requests a fault is for") {
  struct Row {
    const char* fault;
    bool hit;
  };
  const FaultSubject subject{.where = Where::cdn,
                             .method = "GET",
                             .path = "/repos/o/n/abc",
                             .file = "r/part 1.tar",
                             .first = 10,
                             .last = 19};
  for (const Row& row : {Row{"", true}, Row{"cdn", true}, Row{"hub", false}, Row{"method=HEAD", false},
                         Row{"path=part%201", true}, Row{"path=*.tar", true}, Row{"path=*.zst", false},
                         Row{"path=/repos/", true}, Row{"covers=9", false}, Row{"covers=10", true},
                         Row{"flip_at=19", true}, Row{"flip_at=20", false}}) {
    INFO(row.fault);
    FaultRules rules;
    const auto id = rules.add(parse_fault(row.fault));
    CHECK((rules.match(subject) != nullptr) == row.hit);
    CHECK(rules.hits(id) == (row.hit ? 1 : 0));
  }
}

TEST_CASE("skip and times count matching requests, and the next rule comes after") {
  FaultRules rules;
  const auto first = rules.add(parse_fault("skip=1 times=2 status=500"));
  const auto second = rules.add(parse_fault("times=0 status=503"));
  const FaultSubject subject;
  std::vector<int> seen;
  for (int i = 0; i < 5; ++i) seen.push_back(*rules.match(subject)->status);
  CHECK(seen == std::vector<int>{503, 500, 500, 503, 503});
  rules.clear();
  CHECK(rules.match(subject) == nullptr);
  CHECK(rules.hits(first) == 2);
  CHECK(rules.hits(second) == 3);
}
