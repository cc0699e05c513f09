// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "decant/fs/rel_path.hpp"
#include "decant/hash/digest.hpp"
#include "strict_json.hpp"

namespace decant::model {

// A value together with where it stands, so that each getter can say what is wrong and where. Lives on the
// stack of the function that walks; a child points to its parent.
class Node {
 public:
  Node(const Value& value, const TextOrigin& origin) : value_{&value}, origin_{&origin} {}

  const Value& value() const { return *value_; }
  // From here on messages call this node `label` ("part images_000") instead of its key path.
  void set_label(std::string label) { label_ = std::move(label); }
  std::string where() const;  // "ORIGIN: part images_000: unpack.root"

  // Children. require() and the getters throw Error{state}; a key whose value is null counts as there.
  Node require(std::string_view key, std::string_view expected) const;
  std::optional<Node> find(std::string_view key) const;
  void each(const std::function<void(Node&)>& visit) const;  // elements of a list

  const Node& object() const;
  std::uint64_t size_number() const;   // 0 to 2^63 - 1
  std::int64_t signed_number() const;  // any whole number of 64 bits
  bool boolean() const;
  const std::string& text() const;  // a string
  std::string line_text() const;    // a string that is not empty and has no control characters
  std::string name() const;         // 1 to 128 characters of [A-Za-z0-9._-], not "." or ".."
  fs::RelPath path() const;         // may be the root
  fs::RelPath file_path() const;    // not the root
  hash::Digest digest(hash::Algorithm algorithm = hash::Algorithm::sha256) const;

  [[noreturn]] void fail(std::string expected) const;  // found: this value
  [[noreturn]] void fail(std::string expected, std::string found) const;
  // `what` follows the place: "ORIGIN: part a: WHAT".
  [[noreturn]] void refuse(std::string_view what, std::string expected, std::string found,
                           std::string hint = {}) const;

 private:
  Node(const Value& value, const Node& parent, std::string_view key, std::size_t position)
      : value_{&value}, origin_{parent.origin_}, parent_{&parent}, key_{key}, position_{position} {}
  std::string place() const;  // where() without the origin; empty for the top

  const Value* value_;
  const TextOrigin* origin_;
  const Node* parent_ = nullptr;
  std::string_view key_;  // empty for list elements
  std::size_t position_ = 0;
  std::string label_;
};

}  // namespace decant::model
