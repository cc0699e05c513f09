// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "decant/base/fd.hpp"

namespace decant::cli {

// The file of --report: opened before work starts, so that a bad path fails at once; complete or absent,
// never half. What is there already is replaced only when it is an earlier report or empty.
class ReportFile {
 public:
  // Throws Error{disk}, and Error{usage} when the path holds something else.
  explicit ReportFile(const std::string& path);
  ~ReportFile();  // discards what was not committed
  ReportFile(ReportFile&&) noexcept;
  ReportFile& operator=(ReportFile&&) = delete;

  void commit(std::string_view document);

 private:
  std::string path_;
  std::string temporary_;  // empty: a pipe or device, written in place
  Fd fd_;
};

}  // namespace decant::cli
