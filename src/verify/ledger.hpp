// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "decant/progress/reporter.hpp"
#include "decant/report/report.hpp"

namespace decant::verify {

// Where readers put what they find: into the result, and to the reporter at once.
class Ledger {
 public:
  Ledger(report::Result& result, progress::Reporter& reporter) : result_{result}, reporter_{reporter} {}
  // What cannot be read is told once, however many steps meet it.
  void add(report::Finding finding);
  void add(report::Note note);

 private:
  std::mutex mutex_;
  std::set<std::pair<std::string, std::string>> unreadable_;  // tree and path
  report::Result& result_;
  progress::Reporter& reporter_;
};

// "differs  bundle: data/train.parquet [part data] (expected sha256 …, found sha256 …)".
std::string to_line(const report::Finding& finding);

}  // namespace decant::verify
