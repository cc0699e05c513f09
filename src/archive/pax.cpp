// SPDX-License-Identifier: Apache-2.0
#include "pax.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "decant/base/bytes.hpp"
#include "decant/base/text.hpp"
#include "refusal.hpp"

namespace decant::archive {
namespace {

constexpr std::uint64_t k_largest_time = 1ULL << 53;
constexpr std::uint64_t k_largest_size = 1ULL << 60;

[[noreturn]] void malformed(std::string words) {
  throw Refusal{Rule::s8_form, "its PAX header is malformed: " + std::move(words)};
}

struct Record {
  std::string_view key;
  std::string_view value;
};

// "LENGTH SP KEY=VALUE LF", the length counting all of it. Advances `rest`.
Record take_record(std::string_view& rest) {
  const auto space = rest.substr(0, 8).find(' ');
  if (space == std::string_view::npos || space == 0 || rest[0] == '0') malformed("a record has no length");
  const auto length = parse_u64(rest.substr(0, space));
  if (!length || *length > rest.size() || *length < space + 4) malformed("a record's length is wrong");
  const auto record = rest.substr(space + 1, static_cast<std::size_t>(*length) - space - 1);
  if (record.back() != '\n') malformed("a record does not end where its length says");
  const auto equals = record.find('=');
  if (equals == std::string_view::npos) malformed("a record has no '='");
  if (equals == 0 || record.substr(0, equals).find('\0') != std::string_view::npos)
    malformed("a record's key is bad");
  rest.remove_prefix(static_cast<std::size_t>(*length));
  return {record.substr(0, equals), record.substr(equals + 1, record.size() - equals - 2)};
}

bool has_prefix(std::string_view key, std::string_view prefix) {
  return key.substr(0, prefix.size()) == prefix;
}

bool is_attribute(std::string_view key) {
  static constexpr std::array k_prefixes{
      std::string_view{"SCHILY.xattr."}, std::string_view{"LIBARCHIVE.xattr."},
      std::string_view{"SCHILY.acl."},   std::string_view{"SCHILY.fflags"},
      std::string_view{"RHT.security."}, std::string_view{"LIBARCHIVE.symlinktype"}};
  return std::any_of(k_prefixes.begin(), k_prefixes.end(),
                     [&](auto prefix) { return has_prefix(key, prefix); });
}

std::string name_value(const Record& record) {
  if (record.value.empty()) malformed("an empty " + std::string{record.key});
  if (record.value.find('\0') != std::string_view::npos) {
    throw Refusal{Rule::s1_name, "its PAX " + std::string{record.key} + " holds a NUL"};
  }
  return std::string{record.value};
}

void apply(const Record& record, PaxFacts& facts) {
  const auto key = record.key;
  if (key == "path") {
    facts.path = name_value(record);
  } else if (key == "linkpath") {
    facts.link = name_value(record);
  } else if (key == "size") {
    facts.size = parse_u64(record.value);
    if (!facts.size || *facts.size > k_largest_size)
      throw Refusal{Rule::s6_size, "its PAX size is not a size"};
  } else if (key == "mtime") {
    facts.mtime = parse_pax_time(record.value);
    if (!facts.mtime) malformed("mtime is not a time");
  } else if (key == "hdrcharset") {
    // Either way the names are taken as bytes and rule S2 looks at them.
    if (record.value != "BINARY" && record.value != "ISO-IR 10646 2000 UTF-8") {
      throw Refusal{Rule::s2_text, "its PAX header is in another character set"};
    }
  } else if (has_prefix(key, "GNU.sparse.") || key == "SCHILY.realsize") {
    throw Refusal{Rule::s6_size, "packed as sparse; repack with --no-read-sparse"};
  } else if (has_prefix(key, "GNU.volume.")) {
    throw Refusal{Rule::s3_type, "it belongs to an archive of several volumes"};
  } else if (is_attribute(key)) {
    ++facts.attributes;
  }
}

}  // namespace

PaxFacts parse_pax(std::string_view block) {
  static constexpr std::array k_once{std::string_view{"path"}, std::string_view{"linkpath"},
                                     std::string_view{"size"}, std::string_view{"mtime"},
                                     std::string_view{"hdrcharset"}};
  PaxFacts facts;
  std::set<std::string_view> seen;
  if (block.empty()) malformed("it is empty");
  while (!block.empty()) {
    const auto record = take_record(block);
    const bool once = std::find(k_once.begin(), k_once.end(), record.key) != k_once.end();
    if (once && !seen.insert(record.key).second) malformed("two records for " + std::string{record.key});
    apply(record, facts);
  }
  return facts;
}

void check_global_pax(std::string_view block) {
  if (block.empty()) malformed("it is empty");
  while (!block.empty()) {
    const auto record = take_record(block);
    if (record.key != "comment") {
      throw Refusal{Rule::s8_form,
                    "a global PAX header sets '" + escape_for_display(record.key.substr(0, 40)) + "'"};
    }
  }
}

std::optional<std::int64_t> parse_pax_time(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  const auto dot = text.find('.');
  const auto whole = parse_u64(text.substr(0, dot));
  if (!whole || *whole > k_largest_time) return std::nullopt;
  bool fraction = false;
  if (dot != std::string_view::npos) {
    for (const char c : text.substr(dot + 1)) {
      if (c < '0' || c > '9') return std::nullopt;
      fraction = fraction || c != '0';
    }
  }
  const auto seconds = static_cast<std::int64_t>(*whole);
  if (!negative) return seconds;
  return fraction ? -seconds - 1 : -seconds;
}

}  // namespace decant::archive
