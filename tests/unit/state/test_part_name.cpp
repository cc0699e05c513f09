// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "decant/base/text.hpp"
#include "state_support.hpp"

using namespace decant;
using namespace decant::state;

TEST_CASE("a part's name becomes a file name of its own") {
  CHECK(part_file_name("images_000") == "images_000");
  CHECK(part_file_name("swift-src.v1") == "swift-src.v1");
  const std::vector<std::string> odd{"",    ".",     "..",  ".decant-marker", "a/b",  "A",
                                     "a b", "a_b~c", "a~b", "\xFF",           "Data", std::string(101, 'a'),
                                     "é",   "a\nb"};
  std::set<std::string> names{part_file_name("data"), part_file_name("a_b"), part_file_name("a")};
  for (const std::string& part : odd) {
    const std::string name = part_file_name(part);
    CAPTURE(part, name);
    CHECK(name.find('~') != std::string::npos);
    CHECK(name.find('/') == std::string::npos);
    CHECK(name.front() != '.');
    CHECK(name.size() < 100);
    CHECK(name == to_lower_ascii(name));
    CHECK(names.insert(name).second);
  }
}
