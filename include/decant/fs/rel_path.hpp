// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace decant::fs {

// A path below some root, checked once: '/'-separated components of 1 to 255 bytes, none of them `.` or `..`,
// no NUL, no leading, trailing or double '/', at most 4,095 bytes and 64 components. Bytes as they are: any
// encoding. The empty path is the root itself.
class RelPath {
 public:
  static constexpr std::size_t k_max_bytes = 4095;
  static constexpr std::size_t k_max_component = 255;
  static constexpr std::size_t k_max_depth = 64;

  RelPath() = default;
  // nullopt when the text breaks a rule; `why`, if given, gets the broken rule in words.
  static std::optional<RelPath> parse(std::string_view text, std::string* why = nullptr);
  // Throws Error{state} that names `what` ("part images_000: path").
  static RelPath require(std::string_view text, std::string_view what);

  const std::string& str() const noexcept { return text_; }
  bool is_root() const noexcept { return text_.empty(); }
  RelPath parent() const;          // of a root: the root
  std::string_view name() const;   // last component; empty for the root
  std::string_view first() const;  // first component; empty for the root
  RelPath rest() const;            // without the first component
  std::size_t depth() const noexcept;
  // Throws Error{state} when the joined path breaks a rule.
  RelPath operator/(const RelPath& below) const;
  // True for the directory itself and everything below it.
  bool is_within(const RelPath& directory) const;

  auto operator<=>(const RelPath&) const = default;

 private:
  explicit RelPath(std::string text) : text_{std::move(text)} {}
  std::string text_;
};

}  // namespace decant::fs

template <>
struct std::hash<decant::fs::RelPath> {
  std::size_t operator()(const decant::fs::RelPath& path) const noexcept {
    return std::hash<std::string>{}(path.str());
  }
};
