// SPDX-License-Identifier: Apache-2.0
#include "node.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/model/manifest.hpp"

namespace decant::model {
namespace {

constexpr std::size_t k_max_name = 128;

bool is_name(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  return !text.empty() && text.size() <= k_max_name && std::all_of(text.begin(), text.end(), allowed) &&
         text != "." && text != "..";
}

}  // namespace

std::string Node::place() const {
  if (!label_.empty()) return label_;
  if (!parent_) return {};
  const std::string before = parent_->place();
  if (key_.empty()) return fmt::format("{}[{}]", before, position_);
  std::string key = escape_for_display(key_);
  if (before.empty()) return key;
  return fmt::format("{}{}{}", before, parent_->label_.empty() ? "." : ": ", key);
}

std::string Node::where() const {
  const std::string below = place();
  const std::string origin = escape_for_display(origin_->name);
  return below.empty() ? origin : fmt::format("{}: {}", origin, below);
}

void Node::refuse(std::string_view what, std::string expected, std::string found, std::string hint) const {
  throw Error{Problem{.kind = ErrorKind::state,
                      .thing = what.empty() ? where() : fmt::format("{}: {}", where(), what),
                      .expected = std::move(expected),
                      .found = std::move(found),
                      .hint = hint.empty() ? std::string{origin_->hint} : std::move(hint)}};
}

void Node::fail(std::string expected, std::string found) const {
  refuse("", std::move(expected), std::move(found));
}

void Node::fail(std::string expected) const {
  fail(std::move(expected), describe(*value_));
}

Node Node::require(std::string_view key, std::string_view expected) const {
  object();
  if (const Value* child = value_->find(key)) return Node{*child, *this, key, 0};
  static const Value k_nothing;
  Node{k_nothing, *this, key, 0}.fail(std::string{expected}, "nothing: the key is missing");
}

std::optional<Node> Node::find(std::string_view key) const {
  object();
  const Value* child = value_->find(key);
  if (!child) return std::nullopt;
  return Node{*child, *this, key, 0};
}

void Node::each(const std::function<void(Node&)>& visit) const {
  const auto* array = value_->get<Array>();
  if (!array) fail("a list");
  for (std::size_t i = 0; i < array->size(); ++i) {
    Node child{(*array)[i], *this, {}, i};
    visit(child);
  }
}

const Node& Node::object() const {
  if (!value_->get<Object>()) fail("an object");
  return *this;
}

std::uint64_t Node::size_number() const {
  const auto* number = value_->get<std::uint64_t>();
  if (!number || *number > k_max_size) fail(fmt::format("a whole number from 0 to {}", k_max_size));
  return *number;
}

std::int64_t Node::signed_number() const {
  if (const auto* negative = value_->get<std::int64_t>()) return *negative;
  const auto* number = value_->get<std::uint64_t>();
  if (!number || *number > k_max_size) fail("a whole number of 64 bits");
  return static_cast<std::int64_t>(*number);
}

bool Node::boolean() const {
  const auto* flag = value_->get<bool>();
  if (!flag) fail("true or false");
  return *flag;
}

const std::string& Node::text() const {
  const auto* text = value_->get<std::string>();
  if (!text) fail("a text");
  return *text;
}

std::string Node::line_text() const {
  const std::string& line = text();
  if (line.empty() || line.size() > fs::RelPath::k_max_bytes || has_control_characters(line)) {
    fail("a text of 1 to 4,095 bytes without control characters");
  }
  return line;
}

std::string Node::name() const {
  const std::string& name = text();
  if (!is_name(name)) fail("a name of 1 to 128 characters of A-Z a-z 0-9 . _ -");
  return name;
}

fs::RelPath Node::path() const {
  std::string why;
  auto path = fs::RelPath::parse(text(), &why);
  if (!path) fail(fmt::format("a path that stays below its root ({})", why));
  return *std::move(path);
}

fs::RelPath Node::file_path() const {
  auto file = path();
  if (file.is_root()) fail("the path of a file");
  return file;
}

hash::Digest Node::digest(hash::Algorithm algorithm) const {
  const auto digest = hash::Digest::parse(algorithm, text());
  if (!digest) {
    fail(fmt::format("{} lower-case hexadecimal digits", algorithm == hash::Algorithm::sha256 ? 64 : 40));
  }
  return *digest;
}

}  // namespace decant::model
