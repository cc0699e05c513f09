// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "decant/base/budget.hpp"

namespace decant {

// Pulls a stream of bytes in order, in blocks. next() gives nullptr at the end; throws Error or Interrupted.
class BlockSource {
 public:
  virtual ~BlockSource() = default;
  virtual BlockPtr next() = 0;
};

}  // namespace decant
