// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "decant/model/manifest.hpp"
#include "model_support.hpp"
#include "support/temp_dir.hpp"

using namespace decant;
using namespace decant::model;

TEST_CASE("every example manifest is one that --manifest takes") {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator{DECANT_EXAMPLES}) {
    if (file.path().extension() != ".json") continue;
    INFO(file.path().filename().string());
    const auto text = test::read_file(file.path().string());
    CHECK_NOTHROW(parse_manifest(text, file.path().filename().string(), Completeness::may_lack_digests));
    CHECK(peek_schema(text) == k_manifest_schema);
    ++count;
  }
  CHECK(count >= 3);
}
