// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decant/cli/cli.hpp"
#include "decant/report/report.hpp"
#include "report_file.hpp"

namespace decant::cli {

// What every command shares: streams, environment, console, report. Options are added first, work is done
// later by the job that the chosen command set.
class Session {
 public:
  explicit Session(Io io);

  // --json, --report, --node, --progress, -q, -v, --color. Called last: from then on no option of the command
  // takes an empty value, another option as its value, or more than one word at a time.
  void add_common_options(CLI::App& command);
  // The option's value comes from the environment when the flag is not given.
  enum class Values { one, separated_by_blanks };
  void bind_environment(CLI::App& command, CLI::Option* option, std::string name,
                        Values values = Values::one);
  // Whether the option bound to this variable was given, by its flag or by the variable.
  bool is_given(std::string_view variable) const;
  void set_job(std::function<int(Session&)> job) { job_ = std::move(job); }

  // Help and version go to stdout (0); anything else is a usage error on stderr (2).
  int parse_ended(const CLI::App& app, const CLI::ParseError& error, bool wants_json);

  // Fills options that were not given. Throws Error{usage} that names the variable.
  void read_environment();
  // What the output options and the environment say, once both are read.
  ui::ConsoleOptions console_options() const;

  // Reads the environment into options not given, opens console and report, runs the job.
  int run_job(const std::string& command);

  ui::Console& console() { return *console_; }
  progress::Reporter& reporter() const { return console_->reporter(); }
  const Stop& stop() const { return *io_.stop; }
  Clock& clock() const { return *io_.clock; }
  std::optional<std::string> env(const std::string& name) const;

  // Ends progress, prints text or JSON, writes the report; returns `code`.
  int finish(const report::Result& result, int code);
  // The same for commands that have printed their text already: only the verdict line is added.
  int finish_quietly(const report::Result& result, int code);
  // The same for a plan, whose text says everything.
  int after_output(const std::string& command, int code);
  int conclude(const report::Result& result, int code);
  report::ReportMeta meta() const;

 private:
  struct Binding {
    CLI::App* command;
    CLI::Option* option;
    std::string name;
    Values values;
  };
  int failed(const std::string& command, const Problem& problem);

  Io io_;
  std::vector<Binding> bindings_;
  std::unique_ptr<ui::Console> console_;
  std::function<int(Session&)> job_;
  std::optional<ReportFile> report_;
  std::string started_utc_;

  struct Common {
    bool json = false;
    bool quiet = false;
    int verbose = 0;
    std::string report;
    std::string node;
    std::string progress = "auto";
    std::string color = "auto";
  } common_;
};

inline constexpr std::string_view k_version = DECANT_VERSION;

// Quotes for a POSIX shell where needed.
std::string shell_quote(const std::string& word);

void add_restore_command(CLI::App& app, Session& session);
void add_plan_command(CLI::App& app, Session& session);
void add_fetch_command(CLI::App& app, Session& session);
void add_verify_command(CLI::App& app, Session& session);
void add_status_command(CLI::App& app, Session& session);
void add_cache_command(CLI::App& app, Session& session);

}  // namespace decant::cli
