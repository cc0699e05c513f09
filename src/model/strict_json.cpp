// SPDX-License-Identifier: Apache-2.0
#include "strict_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/model/json.hpp"

namespace decant::model {
namespace {

using Json = nlohmann::json;

constexpr std::size_t k_linear_keys = 16;  // below this many keys a scan is cheaper than a set

// Reads characters through a position that we can see too: the SAX events carry none.
class Cursor {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  explicit Cursor(const char** position) : position_{position} {}
  static Cursor end_at(const char* end) {
    Cursor cursor{nullptr};
    cursor.end_ = end;
    return cursor;
  }
  reference operator*() const { return **position_; }
  Cursor& operator++() {
    ++*position_;
    return *this;
  }
  Cursor operator++(int) {
    Cursor before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Cursor& other) const { return at() == other.at(); }
  bool operator!=(const Cursor& other) const { return at() != other.at(); }

 private:
  const char* at() const { return position_ ? *position_ : end_; }
  const char** position_;
  const char* end_ = nullptr;
};

struct Fault {
  std::size_t offset = 0;
  std::string what;
  std::string expected;
  std::string found;
};

[[noreturn]] void fail(std::string_view text, const TextOrigin& origin, const Fault& fault) {
  const std::string_view before = text.substr(0, std::min(fault.offset, text.size()));
  const auto line =
      origin.first_line + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  throw Error{Problem{.kind = ErrorKind::state,
                      .thing = fmt::format("{}: line {}, column {}: {}", escape_for_display(origin.name),
                                           line, std::max<std::size_t>(column, 1), fault.what),
                      .expected = fault.expected,
                      .found = fault.found,
                      .hint = std::string{origin.hint}}};
}

// Builds the value tree. Open containers are reached by pointer: a parent does not grow while a child is
// open.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const char** position)
      : begin_{text.data()}, end_{text.data() + text.size()}, position_{position} {}

  const Fault& fault() const { return fault_; }
  Value take() { return std::move(root_); }

  bool null() { return add(Value{}) != nullptr; }
  bool boolean(bool value) { return add(Value{value}) != nullptr; }
  bool number_integer(std::int64_t value) {
    // "-0" is written as a negative number; it stays one.
    return add(Value{value}) != nullptr;
  }
  bool number_unsigned(std::uint64_t value) { return add(Value{value}) != nullptr; }
  bool number_float(double /*value*/, const std::string& text) {
    return add(Value{OddNumber{text}}) != nullptr;
  }
  bool string(std::string& value) { return add(Value{std::move(value)}) != nullptr; }
  bool binary(Json::binary_t& /*value*/) { return refuse("binary data", "text"); }
  bool start_object(std::size_t /*count*/) { return open(Value{Object{}}); }
  bool start_array(std::size_t /*count*/) { return open(Value{Array{}}); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& key) {
    auto& object = std::get<Object>(open_.back()->data);
    auto& seen = seen_.back();
    bool twice = false;
    if (object.size() < k_linear_keys) {
      twice =
          std::any_of(object.begin(), object.end(), [&](const Member& member) { return member.key == key; });
    } else {
      if (seen.empty()) {
        for (const Member& member : object) seen.insert(member.key);
      }
      twice = !seen.insert(key).second;
    }
    if (twice) return refuse(fmt::format("key {} appears twice", quoted(key)), "each key once in an object");
    object.push_back(Member{.key = std::move(key), .value = {}});
    return true;
  }
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::detail::exception& error) {
    const std::string_view why{error.what()};
    if (why.find("UTF-8") != std::string_view::npos) {
      return refuse_at(position, "not valid UTF-8", "JSON text in UTF-8");
    }
    // Also within a text or a word: whatever is missing, the end came too early.
    if (*position_ == end_ && why.find("; expected end of input") == std::string_view::npos &&
        (position > size() || why.find("unexpected end of input") != std::string_view::npos)) {
      return refuse_at(position, "the text ends too early", "a whole JSON value", "the end");
    }
    if (why.find("; expected end of input") != std::string_view::npos) {
      return refuse_at(position, "text after the JSON value", "nothing", quoted(last_token));
    }
    if (why.find("number overflow") != std::string_view::npos) {
      return refuse_at(position, "a number is too large", "a number that a double can hold",
                       quoted(last_token));
    }
    return refuse_at(position, "not valid JSON", "", "near " + quoted(last_token));
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
  static std::string quoted(std::string_view text) {
    constexpr std::size_t k_shown = 60;
    const std::string shown = escape_for_display(text.substr(0, k_shown));
    return fmt::format("\"{}{}\"", shown, text.size() > k_shown ? "…" : "");
  }
  bool refuse_at(std::size_t offset, std::string what, std::string expected, std::string found = {}) {
    fault_ = {.offset = offset,
              .what = std::move(what),
              .expected = std::move(expected),
              .found = std::move(found)};
    return false;
  }
  bool refuse(std::string what, std::string expected) {
    return refuse_at(static_cast<std::size_t>(*position_ - begin_), std::move(what), std::move(expected));
  }
  Value* add(Value value) {
    if (++count_ > k_json_max_values) {
      refuse("too many values", fmt::format("at most {}", k_json_max_values));
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (auto* array = std::get_if<Array>(&open_.back()->data)) return &array->emplace_back(std::move(value));
    Member& member = std::get<Object>(open_.back()->data).back();
    member.value = std::move(value);
    return &member.value;
  }
  bool open(Value container) {
    if (open_.size() == k_json_max_depth) {
      return refuse("nested too deeply", fmt::format("at most {} levels", k_json_max_depth));
    }
    Value* added = add(std::move(container));
    if (!added) return false;
    open_.push_back(added);
    seen_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    seen_.pop_back();
    return true;
  }

  const char* begin_;
  const char* end_;
  const char** position_;
  Value root_;
  std::vector<Value*> open_;
  std::vector<std::unordered_set<std::string>> seen_;  // keys of each open object that has many
  std::size_t count_ = 0;
  Fault fault_;
};

void append_text(const Value& value, std::string& out);

struct TextWriter {
  std::string& out;

  void operator()(std::monostate /*null*/) const { out += "null"; }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(std::uint64_t value) const { out += std::to_string(value); }
  void operator()(std::int64_t value) const { out += std::to_string(value); }
  void operator()(const OddNumber& value) const { out += value.text; }
  void operator()(const std::string& value) const { out += json_quote(value); }
  void operator()(const Array& array) const {
    out += '[';
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (i > 0) out += ',';
      append_text(array[i], out);
    }
    out += ']';
  }
  void operator()(const Object& object) const {
    out += '{';
    for (std::size_t i = 0; i < object.size(); ++i) {
      if (i > 0) out += ',';
      out += json_quote(object[i].key);
      out += ':';
      append_text(object[i].value, out);
    }
    out += '}';
  }
};

void append_text(const Value& value, std::string& out) {
  std::visit(TextWriter{out}, value.data);
}

}  // namespace

const Value* Value::find(std::string_view key) const {
  const auto* object = get<Object>();
  if (!object) return nullptr;
  for (const Member& member : *object) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

Value parse_json(std::string_view text, const TextOrigin& origin) {
  if (text.starts_with("\xEF\xBB\xBF")) {
    fail(text, origin,
         {.what = "begins with a byte order mark", .expected = "UTF-8 without one", .found = "EF BB BF"});
  }
  // The parser takes NUL for the end of its input; here it is just a wrong byte.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    fail(text, origin, {.offset = nul + 1, .what = "a NUL byte", .expected = "JSON text", .found = "\\x00"});
  }
  const char* position = text.data();
  TreeBuilder builder{text, &position};
  if (!Json::sax_parse(Cursor{&position}, Cursor::end_at(text.data() + text.size()), &builder)) {
    fail(text, origin, builder.fault());
  }
  return builder.take();
}

std::string to_text(const Value& value) {
  std::string out;
  append_text(value, out);
  return out;
}

std::string describe(const Value& value) {
  constexpr std::size_t k_shown = 80;
  if (const auto* array = value.get<Array>()) {
    return array->empty() ? "an empty list" : fmt::format("a list of {}", array->size());
  }
  if (value.get<Object>()) return "an object";
  if (const auto* text = value.get<std::string>()) {
    return fmt::format("\"{}{}\"", escape_for_display(std::string_view{*text}.substr(0, k_shown)),
                       text->size() > k_shown ? "…" : "");
  }
  return to_text(value).substr(0, k_shown);
}

}  // namespace decant::model
