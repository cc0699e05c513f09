// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// Why a tar entry is refused, thrown where the rule is checked; the guard adds the entry's number and name.
// docs/architecture.md says what each rule demands.
namespace decant::archive {

enum class Rule {
  s1_name = 1,
  s2_text,
  s3_type,
  s4_twice,   // judged while unpacking
  s5_parent,  // judged while unpacking
  s6_size,
  s7_setid,
  s8_form,
  s9_set,
};

struct Refusal {
  Rule rule;
  std::string words;
};

inline std::string rule_id(Rule rule) {
  return "S" + std::to_string(static_cast<int>(rule));
}

}  // namespace decant::archive
