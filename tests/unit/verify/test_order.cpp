// SPDX-License-Identifier: Apache-2.0
#include "helpers.hpp"
#include "read.hpp"

using namespace decant;
using verify::Expected;

namespace {

constexpr std::uint64_t k_mb = 1'000'000;

// Files "0", "1", … of the given sizes in MB, all waiting to be read.
std::vector<std::uint64_t> order_of(const std::vector<std::uint64_t>& megabytes, int readers) {
  verify::Tree tree{.name = "t"};
  for (std::size_t i = 0; i < megabytes.size(); ++i) {
    Expected entry;
    entry.path = fs::RelPath::require(std::to_string(i), "test");
    entry.size = megabytes[i] * k_mb;
    tree.entries.push_back(entry);
  }
  std::deque<verify::Sheet> sheets;
  sheets.emplace_back(tree, verify::Level::every_byte);
  for (std::size_t i = 0; i < megabytes.size(); ++i) sheets[0].set(i, verify::Seen::to_read);
  verify::ReadQueue queue{sheets, readers};
  std::vector<std::uint64_t> order;
  while (const auto job = queue.next()) order.push_back(megabytes[job->entry]);
  return order;
}

}  // namespace

TEST_CASE("files are read in an order that shows damage early and leaves no long tail") {
  using Order = std::vector<std::uint64_t>;
  struct Row {
    const char* name;
    Order sizes;
    int readers;
    Order order;
  };
  const std::vector<Row> rows{
      {"nothing", {}, 2, {}},
      {"one reader: small first, then longest first", {100, 1, 300, 2}, 1, {1, 2, 300, 100}},
      {"a shard as long as all the rest is begun at once", {1, 1, 100, 1}, 4, {100, 1, 1, 1}},
      {"shards wait while there is enough else to do", {5, 5, 5, 5, 10, 10}, 2, {5, 5, 5, 5, 10, 10}},
      {"the shard goes first once it is critical", {5, 5, 5, 5, 20}, 4, {20, 5, 5, 5, 5}},
  };
  for (const Row& row : rows) {
    DYNAMIC_SECTION(row.name) {
      CHECK(order_of(row.sizes, row.readers) == row.order);
    }
  }
}
