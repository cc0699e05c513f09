// SPDX-License-Identifier: Apache-2.0
#include "decant/fs/rel_path.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"

namespace decant::fs {
namespace {

// The rule that `text` breaks, or nothing.
std::string broken_rule(std::string_view text) {
  if (text.empty()) return {};
  if (text.size() > RelPath::k_max_bytes) return fmt::format("longer than {} bytes", RelPath::k_max_bytes);
  if (text.find('\0') != std::string_view::npos) return "holds a NUL byte";
  if (text.front() == '/') return "is absolute";
  if (text.back() == '/') return "ends in '/'";
  std::size_t depth = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    const std::string_view component = text.substr(begin, end - begin);
    if (component.empty()) return "holds '//'";
    if (component == "." || component == "..") return fmt::format("holds the component '{}'", component);
    if (component.size() > RelPath::k_max_component) {
      return fmt::format("holds a name longer than {} bytes", RelPath::k_max_component);
    }
    if (++depth > RelPath::k_max_depth)
      return fmt::format("is deeper than {} components", RelPath::k_max_depth);
    begin = end + 1;
  }
  return {};
}

}  // namespace

std::optional<RelPath> RelPath::parse(std::string_view text, std::string* why) {
  std::string rule = broken_rule(text);
  if (rule.empty()) return RelPath{std::string{text}};
  if (why != nullptr) *why = std::move(rule);
  return std::nullopt;
}

RelPath RelPath::require(std::string_view text, std::string_view what) {
  std::string why;
  if (auto path = parse(text, &why)) return *std::move(path);
  constexpr std::size_t k_shown = 200;
  const std::string shown = escape_for_display(text.substr(0, k_shown)) + (text.size() > k_shown ? "…" : "");
  throw Error{Problem{.kind = ErrorKind::state,
                      .thing = fmt::format("{}: the path {}", what, why),
                      .expected = "a relative path without '.', '..' or empty components",
                      .found = shown,
                      .hint = "correct it there, or tell who made it"}};
}

RelPath RelPath::parent() const {
  const std::size_t slash = text_.rfind('/');
  return slash == std::string::npos ? RelPath{} : RelPath{text_.substr(0, slash)};
}

std::string_view RelPath::name() const {
  const std::string_view text = text_;
  const std::size_t slash = text.rfind('/');
  return slash == std::string_view::npos ? text : text.substr(slash + 1);
}

std::string_view RelPath::first() const {
  const std::string_view text = text_;
  return text.substr(0, text.find('/'));
}

RelPath RelPath::rest() const {
  const std::size_t slash = text_.find('/');
  return slash == std::string::npos ? RelPath{} : RelPath{text_.substr(slash + 1)};
}

std::size_t RelPath::depth() const noexcept {
  if (text_.empty()) return 0;
  return 1 + static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '/'));
}

RelPath RelPath::operator/(const RelPath& below) const {
  if (is_root()) return below;
  if (below.is_root()) return *this;
  return require(fmt::format("{}/{}", text_, below.text_), "joined path");
}

bool RelPath::is_within(const RelPath& directory) const {
  const std::string& other = directory.text_;
  if (other.empty() || text_ == other) return true;
  return text_.size() > other.size() && text_[other.size()] == '/' && text_.starts_with(other);
}

}  // namespace decant::fs
