// SPDX-License-Identifier: Apache-2.0
// Locks come from disks and from other nodes. An even first byte seals the rest with a digest that is right,
// so that what lies behind that check is reached.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "decant/base/error.hpp"
#include "decant/hash/hasher.hpp"
#include "decant/model/lock.hpp"

using namespace decant;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string text{reinterpret_cast<const char*>(data) + 1, size - 1};
  if (data[0] % 2 == 0) {
    const std::string before = "{\n  \"schema\": \"decant.lock/1\",\n  \"digest\": \"";
    text = before + hash::sha256(before + text).hex() + text;
  }
  try {
    const model::RestoreLock lock = model::parse_lock(text, "the lock");
    const std::string again = model::to_json(lock);
    if (model::to_json(model::parse_lock(again, "the lock again")) != again) std::abort();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::state) std::abort();
  }
  return 0;
}
