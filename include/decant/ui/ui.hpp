// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "decant/base/clock.hpp"
#include "decant/plan/plan.hpp"
#include "decant/progress/reporter.hpp"
#include "decant/report/report.hpp"

namespace decant::ui {

enum class ColorMode { automatic, always, never };
enum class ProgressMode { automatic, bar, plain, json, none };

// Where text goes: a descriptor in the program, a string in tests. Writes never throw and never end a
// command: after EPIPE or any other error the stream is silent.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void write(std::string_view text) = 0;
  virtual bool is_terminal() const = 0;
  virtual int columns() const = 0;  // 80 when unknown
  // True when text was lost though somebody may still read it (full disk), unlike after EPIPE.
  virtual bool has_lost_text() const { return false; }
};
std::unique_ptr<Stream> fd_stream(int fd);

struct ConsoleOptions {
  ColorMode color = ColorMode::automatic;
  ProgressMode progress = ProgressMode::automatic;  // bar on a terminal, plain elsewhere
  bool json = false;                                // results as JSON lines on stdout
  bool quiet = false;                               // errors and results only
  int verbose = 0;
  bool no_color_env = false;  // NO_COLOR is set
};

// The one owner of stdout and stderr: keeps the status lines and messages apart. Implements the Reporter that
// engines talk to; a ticker thread draws snapshots of the counters (bar: 10 a second; plain: one line each 10
// s, and at once for messages). Thread-safe.
class Console {
 public:
  virtual ~Console() = default;
  virtual progress::Reporter& reporter() = 0;
  // Stops drawing: call before printing results.
  virtual void end_progress() = 0;
  virtual void out(std::string_view text) = 0;  // stdout, as it is
  virtual void err(std::string_view text) = 0;  // stderr, as it is
  virtual bool json() const = 0;
  virtual bool quiet() const = 0;
  virtual bool color_out() const = 0;
  virtual bool color_err() const = 0;
  virtual void print_problem(const Problem& problem) = 0;  // stderr, four-part form
  virtual bool has_lost_results() const = 0;               // text for stdout that went nowhere
};
std::unique_ptr<Console> make_console(std::unique_ptr<Stream> out, std::unique_ptr<Stream> err,
                                      ConsoleOptions options, Clock& clock);

// Text renderers: values to text, no I/O. `color`: ANSI sequences or none.
std::string render_plan(const plan::Plan& plan, bool color);
std::string render_plan_json(const plan::Plan& plan);  // JSON lines: plan_part, plan_file_system, …
std::string render_result(const report::Result& result, int exit_code, bool color);

// A table with aligned columns (display width, not bytes); numbers to the right.
struct Column {
  std::string title;
  bool right = false;
};
std::string render_table(const std::vector<Column>& columns,
                         const std::vector<std::vector<std::string>>& rows);

}  // namespace decant::ui
