// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "decant/ui/ui.hpp"

namespace decant::test {

// What is written is appended to `text`, which must outlive it.
class StringStream final : public ui::Stream {
 public:
  explicit StringStream(std::string& text, bool terminal = false, int columns = 80)
      : text_{text}, terminal_{terminal}, columns_{columns} {}
  void write(std::string_view text) override { text_ += text; }
  bool is_terminal() const override { return terminal_; }
  int columns() const override { return columns_; }

 private:
  std::string& text_;
  const bool terminal_;
  const int columns_;
};

}  // namespace decant::test
