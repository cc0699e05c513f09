// SPDX-License-Identifier: Apache-2.0
#include "entry_rules.hpp"

#include <algorithm>

#include "decant/base/text.hpp"
#include "refusal.hpp"

namespace decant::archive {
namespace {

constexpr std::uint32_t k_setid = 06000;
constexpr std::uint32_t k_special = 07000;
// Above this a plain ustar size field (eleven octal digits) overflows and tools may write 0 beside a PAX
// size.
constexpr std::uint64_t k_ustar_limit = 1ULL << 33;

EntryKind kind_of(const TarHeader& header, std::string_view name) {
  switch (header.type) {
    case '0':
      return EntryKind::file;
    case '\0':  // v7: a directory is a name that ends in '/'
      return !name.empty() && name.back() == '/' ? EntryKind::dir : EntryKind::file;
    case '1':
      return EntryKind::hardlink;
    case '2':
      return EntryKind::symlink;
    case '5':
      return EntryKind::dir;
    case '3':
    case '4':
      throw Refusal{Rule::s3_type, "it is a device"};
    case '6':
      throw Refusal{Rule::s3_type, "it is a named pipe"};
    case 'S':
      throw Refusal{Rule::s6_size, "packed as sparse; repack with --no-read-sparse"};
    default:
      throw Refusal{Rule::s3_type, "entries of type '" +
                                       escape_for_display(std::string_view{&header.type, 1}) +
                                       "' are not allowed; only files, directories and links are"};
  }
}

bool has_drive_letter(std::string_view text) {
  return text.size() >= 2 && text[1] == ':' && ((text[0] | 0x20) >= 'a' && (text[0] | 0x20) <= 'z');
}

void check_text(std::string_view text, std::string_view what, const Rules& rules) {
  const auto refuse = [&](std::string_view words, Rule rule = Rule::s2_text) {
    throw Refusal{rule, std::string{what} + " " + std::string{words}};
  };
  if (!rules.allow_non_utf8 && !is_valid_utf8(text)) refuse("is not UTF-8 (accept: non-utf8)");
  const bool control = std::any_of(text.begin(), text.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (control || has_control_characters(text)) refuse("has control characters");
  if (text.find('\\') != std::string_view::npos) refuse("has a backslash", Rule::s1_name);
  if (has_drive_letter(text)) refuse("begins with a drive letter", Rule::s1_name);
}

// Drops a leading "./" and, of directories, one trailing '/'.
fs::RelPath normalise(std::string_view name, std::string_view what, bool is_dir, const Rules& rules) {
  if (name.empty()) throw Refusal{Rule::s1_name, std::string{what} + " is empty"};
  check_text(name, what, rules);
  if (is_dir && (name == "." || name == "./")) return {};
  if (name.substr(0, 2) == "./") name.remove_prefix(2);
  if (is_dir && name.size() > 1 && name.back() == '/') name.remove_suffix(1);
  std::string why;
  auto path = fs::RelPath::parse(name, &why);
  if (!path) throw Refusal{Rule::s1_name, std::string{what} + " is not allowed: " + why};
  if (path->is_root()) throw Refusal{Rule::s1_name, std::string{what} + " is empty"};
  return *path;
}

// The whole path below the root must be a path too, and none of ours.
void check_place(const fs::RelPath& path, const Rules& rules) {
  const auto& under = rules.under;
  if (!under.is_root() && (under.str().size() + 1 + path.str().size() > fs::RelPath::k_max_bytes ||
                           under.depth() + path.depth() > fs::RelPath::k_max_depth)) {
    throw Refusal{Rule::s1_name,
                  "its name is too long or too deep below '" + escape_for_display(under.str()) + "'"};
  }
  if (!under.is_root()) return;
  const auto first = to_lower_ascii(path.first());
  if (first == "restore_lock.json" || first.rfind(".decant", 0) == 0) {
    throw Refusal{Rule::s1_name, "its name is reserved for decant"};
  }
}

std::uint64_t settle_size(const TarHeader& header, const Prelude& prelude) {
  if (!prelude.pax || !prelude.pax->size) return header.size;
  const auto pax = *prelude.pax->size;
  const bool overflow = header.size == 0 && pax >= k_ustar_limit;
  if (pax != header.size && !overflow) {
    throw Refusal{Rule::s6_size, "its two sizes disagree (" + std::to_string(header.size) +
                                     " in the header, " + std::to_string(pax) + " in the PAX record)"};
  }
  return pax;
}

void judge_symlink(GuardEntry& result, const Rules& rules) {
  const auto& target = result.raw_link;
  if (target.empty()) throw Refusal{Rule::s3_type, "a symbolic link without a target"};
  if (target.size() > fs::RelPath::k_max_bytes) throw Refusal{Rule::s1_name, "its link target is too long"};
  check_text(target, "its link target", rules);
  const auto& under = rules.under;
  const auto link = under.is_root() ? result.entry.path : under / result.entry.path;
  if (!stays_inside(link, target)) {
    if (!rules.allow_external_links) {
      throw Refusal{Rule::s3_type,
                    "the symbolic link to '" + escape_for_display(target) +
                        "' leaves the root, which this part does not allow (links: allow-external)"};
    }
    result.external_link = true;
  }
  result.entry.link_target = target;
}

void judge_mode(GuardEntry& result, std::uint32_t mode, const Rules& rules) {
  const auto kind = result.entry.kind;
  if (kind == EntryKind::symlink) return;
  if (kind != EntryKind::dir && (mode & k_setid) != 0 && !rules.allow_setid_files) {
    throw Refusal{Rule::s7_setid, "it is a set-user-ID or set-group-ID file (accept: setid-files)"};
  }
  result.cleared_bits = (mode & k_special) != 0;
  result.entry.owner_executable = kind != EntryKind::dir && (mode & 0100) != 0;
}

}  // namespace

std::string effective_name(const TarHeader& header, const Prelude& prelude) {
  if (prelude.pax && prelude.pax->path) return *prelude.pax->path;
  return prelude.gnu_name.value_or(header.name);
}

bool stays_inside(const fs::RelPath& link, std::string_view target) {
  if (target.empty() || target.front() == '/') return false;
  auto depth = link.parent().depth();
  bool named = false;
  for (const auto& component : split(target, '/')) {
    if (component.empty() || component == ".") continue;
    if (component != "..") {
      named = true;
    } else if (named || depth == 0) {
      return false;
    } else {
      --depth;
    }
  }
  return true;
}

GuardEntry judge(const TarHeader& header, const Prelude& prelude, const Rules& rules) {
  GuardEntry result;
  result.raw_name = effective_name(header, prelude);
  result.raw_link =
      prelude.pax && prelude.pax->link ? *prelude.pax->link : prelude.gnu_link.value_or(header.link);
  result.attributes = prelude.pax ? prelude.pax->attributes : 0;
  auto& entry = result.entry;
  entry.kind = kind_of(header, result.raw_name);
  entry.path = normalise(result.raw_name, "its name", entry.kind == EntryKind::dir, rules);
  if (!entry.path.is_root()) check_place(entry.path, rules);
  entry.mtime = prelude.pax && prelude.pax->mtime ? *prelude.pax->mtime : header.mtime;

  const auto size = settle_size(header, prelude);
  const bool is_link = entry.kind == EntryKind::symlink || entry.kind == EntryKind::hardlink;
  if (entry.kind == EntryKind::file) {
    entry.size = size;
  } else if (size != 0) {
    throw Refusal{Rule::s3_type, "it is no regular file and yet has data"};
  }
  if (!is_link && !result.raw_link.empty())
    throw Refusal{Rule::s3_type, "it is no link and yet has a link target"};

  if (entry.kind == EntryKind::symlink) judge_symlink(result, rules);
  if (entry.kind == EntryKind::hardlink) {
    entry.hardlink_target = normalise(result.raw_link, "its hard link target", false, rules);
  }
  judge_mode(result, header.mode, rules);
  return result;
}

}  // namespace decant::archive
