// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

#include "decant/model/json.hpp"

namespace decant::report {

// Writes one JSON object on one line, member by member.
class JsonObject {
 public:
  JsonObject& text(std::string_view key, std::string_view value) {
    return raw(key, model::json_quote(value));
  }
  JsonObject& text_if_any(std::string_view key, std::string_view value) {
    return value.empty() ? *this : text(key, value);
  }
  template <std::integral Integer>
  JsonObject& number(std::string_view key, Integer value) {
    return raw(key, fmt::format("{}", value));
  }
  JsonObject& seconds(std::string_view key, double value) { return raw(key, fmt::format("{:.3f}", value)); }
  JsonObject& flag(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  // `json` is a JSON value already.
  JsonObject& raw(std::string_view key, std::string_view json) {
    body_ += body_.empty() ? "" : ", ";
    body_ += model::json_quote(key);
    body_ += ": ";
    body_ += json;
    return *this;
  }
  const std::string& members() const { return body_; }
  std::string str() const { return "{" + body_ + "}"; }

 private:
  std::string body_;
};

}  // namespace decant::report
