// SPDX-License-Identifier: Apache-2.0
#include "support/hub/faults.hpp"

#include <fnmatch.h>

#include <charconv>
#include <stdexcept>

#include "support/hub/http_message.hpp"

namespace decant::test {
namespace {

bool path_matches(const std::string& pattern, std::string_view text) {
  if (pattern.find_first_of("*?[") == std::string::npos) return text.find(pattern) != std::string_view::npos;
  return ::fnmatch(pattern.c_str(), std::string{text}.c_str(), 0) == 0;
}

bool matches(const Fault& fault, const FaultSubject& subject) {
  if (fault.where != Where::any && fault.where != subject.where) return false;
  if (!fault.method.empty() && fault.method != subject.method) return false;
  if (!fault.path.empty() && !path_matches(fault.path, subject.path) &&
      !path_matches(fault.path, subject.file)) {
    return false;
  }
  auto covers = fault.covers ? fault.covers : fault.flip_at;
  if (!covers && fault.at_object) covers = fault.cut_after ? fault.cut_after : fault.stall_after;
  return !covers || (subject.first <= *covers && *covers <= subject.last);
}

template <class Int>
Int number(std::string_view word, std::string_view text) {
  Int value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument{"fault: " + std::string{word} + " needs a number, got '" + std::string{text} +
                                "'"};
  }
  return value;
}

std::chrono::milliseconds milliseconds(std::string_view word, std::string_view text) {
  return std::chrono::milliseconds{number<std::int64_t>(word, text)};
}

void apply_word(Fault& fault, std::string_view word, const std::string& value) {
  const auto count = [&] { return number<std::uint64_t>(word, value); };
  if (word == "hub") {
    fault.where = Where::hub;
  } else if (word == "cdn") {
    fault.where = Where::cdn;
  } else if (word == "method") {
    fault.method = value;
  } else if (word == "path") {
    fault.path = value;
  } else if (word == "covers") {
    fault.covers = count();
  } else if (word == "skip") {
    fault.skip = count();
  } else if (word == "times") {
    fault.times = count();
  } else if (word == "status") {
    fault.status = number<int>(word, value);
  } else if (word == "header") {
    const auto colon = value.find(':');
    if (colon == std::string::npos) throw std::invalid_argument{"fault: header needs NAME:VALUE"};
    fault.headers.emplace_back(value.substr(0, colon), value.substr(colon + 1));
  } else if (word == "body") {
    fault.body = value;
  } else if (word == "redirect") {
    fault.redirect_to = value;
  } else if (word == "cut_after") {
    fault.cut_after = count();
  } else if (word == "cut") {
    if (value != "fin" && value != "reset") throw std::invalid_argument{"fault: cut is fin or reset"};
    fault.cut = value == "fin" ? CutWith::fin : CutWith::reset;
  } else if (word == "stall_after") {
    fault.stall_after = count();
  } else if (word == "stall_ms") {
    fault.stall_for = milliseconds(word, value);
  } else if (word == "at_object") {
    fault.at_object = true;
  } else if (word == "rate") {
    fault.rate = count();
  } else if (word == "flip_at") {
    fault.flip_at = count();
  } else if (word == "ignore_range") {
    fault.ignore_range = true;
  } else if (word == "resize") {
    fault.resize = number<std::int64_t>(word, value);
  } else if (word == "no_length") {
    fault.no_length = true;
  } else if (word == "chunked") {
    fault.chunked = true;
  } else if (word == "raw") {
    fault.raw = value;
  } else if (word == "close") {
    fault.close_before_answer = true;
  } else if (word == "delay_ms") {
    fault.delay = milliseconds(word, value);
  } else if (word == "refuse_ms") {
    fault.refuse_for = milliseconds(word, value);
  } else {
    throw std::invalid_argument{"fault: no such word: " + std::string{word}};
  }
}

}  // namespace

FaultRules::Id FaultRules::add(Fault fault) {
  const std::lock_guard lock{mutex_};
  rules_.push_back({.fault = std::make_shared<const Fault>(std::move(fault))});
  return rules_.size() - 1;
}

void FaultRules::clear() {
  const std::lock_guard lock{mutex_};
  for (Rule& rule : rules_) rule.fault.reset();  // ids and hit counts stay valid
}

std::uint64_t FaultRules::hits(Id id) const {
  const std::lock_guard lock{mutex_};
  return rules_.at(id).applied;
}

std::shared_ptr<const Fault> FaultRules::match(const FaultSubject& subject) {
  const std::lock_guard lock{mutex_};
  for (Rule& rule : rules_) {
    if (!rule.fault || !matches(*rule.fault, subject)) continue;
    if (rule.fault->times != 0 && rule.applied >= rule.fault->times) continue;
    if (rule.seen++ < rule.fault->skip) continue;
    ++rule.applied;
    return rule.fault;
  }
  return nullptr;
}

Fault parse_fault(std::string_view text) {
  Fault fault;
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (item.empty()) continue;
    const auto equals = std::min(item.find('='), item.size());
    const auto value = item.substr(std::min(equals + 1, item.size()));
    apply_word(fault, item.substr(0, equals), percent_decode(value));
  }
  return fault;
}

}  // namespace decant::test
