// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "decant/report/report.hpp"
#include "decant/restore/restore.hpp"

namespace decant::cli {

// A result of `command` that says which release the bundle holds; a directory has no name but "directory".
report::Result result_about(const restore::OpenedBundle& opened, std::string command);

}  // namespace decant::cli
