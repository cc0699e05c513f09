// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace decant::ui {

// What to do about paths on disk that are in the way, and about parts that contradict one another.
inline std::string conflict_advice(std::size_t on_disk, std::size_t between_parts) {
  std::string text;
  if (on_disk > 0) {
    text += between_parts == 0
                ? "  next:     move them away, then run the same line again with --reextract\n"
                : "  next:     move away what lies there, then run the same line again with --reextract\n";
  }
  if (between_parts > 0)
    text +=
        "  next:     two parts bring different content to one place: tell the release's authors, and leave "
        "one of them out with --skip PART meanwhile\n";
  return text;
}

}  // namespace decant::ui
