// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace decant::ui {

// ANSI colours, or none at all.
class Paint {
 public:
  explicit Paint(bool on) : on_{on} {}
  std::string bold(std::string_view text) const { return wrap("1", text); }
  std::string red(std::string_view text) const { return wrap("31", text); }
  std::string green(std::string_view text) const { return wrap("32", text); }
  std::string yellow(std::string_view text) const { return wrap("33", text); }

 private:
  std::string wrap(std::string_view code, std::string_view text) const {
    if (!on_ || text.empty()) return std::string{text};
    return "\x1b[" + std::string{code} + 'm' + std::string{text} + "\x1b[0m";
  }
  bool on_;
};

}  // namespace decant::ui
