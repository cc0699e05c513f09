// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// Why a tar entry is refused, thrown where the rule is checked; the guard adds the entry's number and name.
//
//   S1  names: components of 1 to 255 bytes, no `.` or `..`, not absolute, bounded length and depth, not
//   reserved S2  characters: UTF-8, no control characters, no backslash, no drive letter S3  types: regular
//   file, directory, symbolic link, hard link, each with only what belongs to it S4  no two entries of one
//   name (identical directories may repeat) S5  parents are directories, hard links name an earlier file,
//   symbolic links stay inside the root S6  sizes: stated once or twice alike, never negative, within what
//   the manifest allows; not sparse S7  no set-user-ID or set-group-ID files S8  well-formed and complete:
//   checksums, extended headers, two zero blocks, then only zeros S9  the entries are those that the manifest
//   states
namespace decant::archive {

enum class Rule { s1_name = 1, s2_text, s3_type, s4_twice, s5_parent, s6_size, s7_setid, s8_form, s9_set };

struct Refusal {
  Rule rule;
  std::string words;
};

inline std::string rule_id(Rule rule) {
  return "S" + std::to_string(static_cast<int>(rule));
}

}  // namespace decant::archive
