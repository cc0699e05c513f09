// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "support/test_hub.hpp"
#include "unit/test_hub/raw_client.hpp"

using namespace decant::test;

TEST_CASE("the log tells every request and what was sent") {
  TestHub hub;
  hub.add_token("hf_canary");
  hub.add_repo({.id = "org/name"}).add_commit({{"r/big file", Content::generated(1, 5000), Store::lfs}});
  const auto resolved = RawClient::get(hub.endpoint() + "/datasets/org/name/resolve/main/r/big%20file",
                                       {{"Authorization", "Bearer hf_canary"}});
  RawClient::get(resolved.header("Location"), {{"Range", "bytes=0-99"}});
  hub.add_fault({.where = Where::cdn, .cut_after = 10});
  RawClient::get(resolved.header("Location"));

  REQUIRE(hub.wait_for([](const HubCounters& counters) { return counters.open_cdn == 0; }));
  const auto requests = hub.requests();
  REQUIRE(requests.size() == 3);
  CHECK(requests[0].where == Where::hub);
  CHECK(requests[0].target == "/datasets/org/name/resolve/main/r/big%20file");
  CHECK(requests[0].file == "r/big file");
  CHECK(requests[0].authorization == "Bearer hf_canary");
  CHECK(requests[0].status == 302);
  CHECK(requests[1].where == Where::cdn);
  CHECK(requests[1].file == "r/big file");
  CHECK(requests[1].range == "bytes=0-99");
  CHECK_FALSE(requests[1].has_authorization);
  CHECK(requests[1].body_sent == 100);
  CHECK(requests[1].complete);
  CHECK(requests[2].body_sent == 10);
  CHECK_FALSE(requests[2].complete);

  const HubCounters counters = hub.counters();
  CHECK(counters.bytes_cdn == 110);
  CHECK(counters.requests_cdn == 2);
  CHECK(counters.connections_cdn == 2);
  CHECK(counters.by_path.at("/datasets/org/name/resolve/main/r/big file") == 1);
  hub.clear_log();
  CHECK(hub.requests().empty());
  CHECK(hub.counters().bytes_cdn == 0);
}

TEST_CASE("many clients at once get what they asked for") {
  TestHub hub;
  const Content content = Content::generated(5, 3'000'000);
  hub.add_repo({.id = "org/name"}).add_commit({{"big", content, Store::lfs}});
  const std::string url =
      RawClient::get(hub.endpoint() + "/datasets/org/name/resolve/main/big").header("Location");
  const std::string text = content.text();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (std::size_t i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      const std::size_t first = i * 100'000;
      const auto answer = RawClient::get(
          url, {{"Range", "bytes=" + std::to_string(first) + "-" + std::to_string(first + 999'999)}});
      if (answer.body == text.substr(first, 1'000'000)) ++good;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(good == 16);
  CHECK(hub.counters().bytes_cdn == 16'000'000);
}

TEST_CASE("the hub ends at once, whatever its connections do") {
  std::vector<RawClient> clients;
  {
    TestHub hub;
    hub.add_repo({.id = "org/name"}).add_commit({{"small", "small text"}});
    hub.add_fault({.times = 0, .stall_after = 3});
    const std::string target = "/datasets/org/name/resolve/main/small";
    for (int i = 0; i < 4; ++i) {
      auto& client = clients.emplace_back(hub.endpoint(), 50);
      if (i < 2) CHECK(client.send("GET", target).timed_out);
    }
    hub.refuse(Where::cdn);
  }
  CHECK(clients.size() == 4);
}
