// SPDX-License-Identifier: Apache-2.0
// Bodies as a hub, a mirror or a captive portal may send them: tree pages and paths-info, revisions, errors.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "answers.hpp"
#include "decant/base/error.hpp"
#include "decant/model/lock.hpp"
#include "decant/model/manifest.hpp"

using namespace decant;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text{reinterpret_cast<const char*>(data) + 1, size - 1};
  try {
    switch (data[0] % 3U) {
      case 0:
        for (const auto& file : hub::parse_entries(text, "the answer")) {
          if (file.path.empty() || file.size > model::k_max_size || !file.digest) std::abort();
        }
        break;
      case 1:
        if (!model::is_commit_id(hub::parse_revision(text, "the answer").commit)) std::abort();
        break;
      default:
        hub::error_words({.status = 500, .headers = {}}, text);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::network) std::abort();
  }
  return 0;
}
