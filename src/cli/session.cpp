// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "decant/base/text.hpp"
#include "environment.hpp"

namespace decant::cli {

namespace {

template <class T>
using Words = std::map<std::string, T>;

const Words<ui::ProgressMode> k_progress_words{{"auto", ui::ProgressMode::automatic},
                                               {"bar", ui::ProgressMode::bar},
                                               {"plain", ui::ProgressMode::plain},
                                               {"json", ui::ProgressMode::json},
                                               {"none", ui::ProgressMode::none}};
const Words<ui::ColorMode> k_color_words{
    {"auto", ui::ColorMode::automatic}, {"always", ui::ColorMode::always}, {"never", ui::ColorMode::never}};

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

template <class T>
std::vector<std::string> keys(const Words<T>& words) {
  std::vector<std::string> out;
  for (const auto& [word, value] : words) out.push_back(word);
  return out;
}

// An unset variable of a script must neither look like an option that was left out, nor swallow the next one.
std::string refuse_no_value(const std::string& word) {
  if (word.empty()) return "the value is empty";
  return word.starts_with("--") ? fmt::format("'{}' is no value", word) : "";
}

}  // namespace

Session::Session(Io io) : io_{std::move(io)} {}

std::optional<std::string> Session::env(const std::string& name) const {
  auto value = io_.getenv(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

void Session::bind_environment(CLI::App& command, CLI::Option* option, std::string name, Values values) {
  option->description(option->get_description() + " [" + name + "]");
  bindings_.push_back({&command, option, std::move(name), values});
}

void Session::read_environment() {
  for (const auto& binding : bindings_) {
    if (!binding.command->parsed() || binding.option->count() > 0) continue;
    const auto value = env(binding.name);
    if (!value) continue;
    try {
      const auto words = binding.values == Values::one ? std::vector{*value} : split(*value, ' ');
      for (const auto& word : words)
        if (!word.empty()) binding.option->add_result(word);
      binding.option->run_callback();
    } catch (const CLI::Error& error) {
      throw Error{
          ErrorKind::usage,
          fmt::format("the environment variable {}: {}", binding.name, escape_for_display(error.what())),
          "correct or unset it"};
    }
  }
}

bool Session::is_given(std::string_view variable) const {
  return std::ranges::any_of(bindings_, [&](const Binding& binding) {
    return binding.name == variable && binding.command->parsed() && binding.option->count() > 0;
  });
}

ui::ConsoleOptions Session::console_options() const {
  ui::ConsoleOptions options;
  options.color = k_color_words.at(common_.color);
  options.progress = k_progress_words.at(common_.progress);
  options.json = common_.json;
  options.quiet = common_.quiet;
  options.verbose = common_.verbose;
  options.no_color_env = env("NO_COLOR").has_value();
  const auto forced = env("FORCE_COLOR");
  if (forced && *forced != "0" && !options.no_color_env && !is_given("DECANT_COLOR"))
    options.color = ui::ColorMode::always;
  if (is_on(env("HF_HUB_DISABLE_PROGRESS_BARS")) && !is_given("DECANT_PROGRESS"))
    options.progress = ui::ProgressMode::none;
  return options;
}

void Session::add_common_options(CLI::App& command) {
  command.add_flag("--json", common_.json, "Print results as JSON lines")->group("Output");
  bind_environment(command,
                   command
                       .add_option("--report", common_.report,
                                   "Write the result as one JSON document to FILE, also on failure")
                       ->type_name("FILE")
                       ->group("Output"),
                   "DECANT_REPORT");
  bind_environment(
      command,
      command.add_option("--node", common_.node, "Name of this machine in the report (default: host name)")
          ->type_name("NAME")
          ->group("Output"),
      "DECANT_NODE");
  bind_environment(command,
                   command.add_option("--progress", common_.progress, "auto, bar, plain, json or none")
                       ->type_name("MODE")
                       ->check(CLI::IsMember(keys(k_progress_words)))
                       ->group("Output"),
                   "DECANT_PROGRESS");
  command.add_flag("-q,--quiet", common_.quiet, "Only results and errors")->group("Output");
  // A newer CLI11 starts the count from a "0" of its own, and shows it in the help.
  command.add_flag("-v,--verbose", common_.verbose, "Say more; twice: still more")
      ->force_callback(false)
      ->default_str("")
      ->group("Output");
  bind_environment(command,
                   command.add_option("--color", common_.color, "auto, always or never")
                       ->type_name("WHEN")
                       ->check(CLI::IsMember(keys(k_color_words)))
                       ->group("Output"),
                   "DECANT_COLOR");
  for (auto* option : command.get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // a flag
    option->check(CLI::Validator{refuse_no_value, ""});
    option->allow_extra_args(false);  // "--only media ORG/NAME": the second word is SOURCE
  }
}

report::ReportMeta Session::meta() const {
  return {.node = common_.node.empty() ? host_name() : common_.node,
          .tool_version = std::string{k_version},
          .started_utc = started_utc_,
          .finished_utc = format_utc(io_.clock->wall_seconds())};
}

int Session::parse_ended(const CLI::App& app, const CLI::ParseError& error, bool wants_json) {
  std::ostringstream out;
  std::ostringstream err;
  const bool is_answer = app.exit(error, out, err) == 0;
  io_.out->write(out.str());
  if (is_answer) return 0;
  const std::string command = app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name();
  const Problem problem{.kind = ErrorKind::usage,
                        .thing = escape_for_display(error.what()),
                        .expected = {},
                        .found = {},
                        .hint = fmt::format("see decant {}--help", command.empty() ? "" : command + " ")};
  io_.err->write(fmt::format("decant: {}\n", to_text(problem)));
  const int code = exit_code(ErrorKind::usage);
  if (wants_json) {
    report::Result result;
    result.command = command;
    result.verdict = problem.thing;
    result.problems.push_back(problem);
    started_utc_ = format_utc(io_.clock->wall_seconds());
    io_.out->write(report::problem_line(problem) + "\n" + report::summary_line(result, meta(), code) + "\n");
  }
  return code;
}

int Session::run_job(const std::string& command) {
  started_utc_ = format_utc(io_.clock->wall_seconds());
  std::optional<Problem> bad_environment;
  try {
    read_environment();
  } catch (const Error& error) {
    bad_environment = error.problem();
  }
  console_ = ui::make_console(std::move(io_.out), std::move(io_.err), console_options(), *io_.clock);
  try {
    if (bad_environment) return failed(command, *bad_environment);
    if (!common_.report.empty()) report_.emplace(common_.report);
    return job_(*this);
  } catch (const Error& error) {
    return failed(command, error.problem());
  } catch (const Interrupted& interrupted) {
    report::Result result;
    result.command = command;
    result.stopped_by = interrupted.signal;
    result.verdict = "stopped by a signal";
    return finish(result, report::exit_code(result));
  } catch (const std::exception& error) {
    return failed(command, {.kind = ErrorKind::bug,
                            .thing = escape_for_display(error.what()),
                            .expected = {},
                            .found = {},
                            .hint = "this is a bug in decant; please report it with the command line"});
  }
}

int Session::failed(const std::string& command, const Problem& problem) {
  report::Result result;
  result.command = command;
  result.problems.push_back(problem);
  result.verdict = problem.thing;
  const int code = report::exit_code(result);
  console_->end_progress();
  if (!console_->json()) console_->print_problem(problem);  // said once: there is no result to show
  return conclude(result, code);
}

int Session::finish(const report::Result& result, int code) {
  console_->end_progress();
  if (!console_->json()) {
    for (const auto& problem : result.problems) console_->print_problem(problem);
    auto shown = result;
    shown.problems.clear();  // said on stderr
    console_->out(ui::render_result(shown, code, console_->color_out()));
  }
  return conclude(result, code);
}

int Session::finish_quietly(const report::Result& result, int code) {
  console_->end_progress();
  if (!console_->json()) console_->out(result.verdict + "\n");
  return conclude(result, code);
}

int Session::conclude(const report::Result& result, int code) {
  if (console_->json()) {
    for (const auto& part : result.parts) console_->out(report::part_line(part) + "\n");
    for (const auto& conflict : result.conflicts) console_->out(report::conflict_line(conflict) + "\n");
    for (const auto& finding : result.findings) console_->out(report::finding_line(finding) + "\n");
    for (const auto& problem : result.problems) console_->out(report::problem_line(problem) + "\n");
  }
  if (report_) {
    try {
      report_->commit(report::to_json(result, meta(), code));
    } catch (const Error& error) {
      console_->print_problem(error.problem());
      code = worse_exit_code(code, exit_code(error.kind()));
    }
    report_.reset();
  }
  if (console_->json()) console_->out(report::summary_line(result, meta(), code) + "\n");
  return after_output(result.command, code);
}

// A result that nobody can read must not end in 0; what restore and fetch brought is there all the same.
int Session::after_output(const std::string& command, int code) {
  if (!console_->has_lost_results()) return code;
  console_->print_problem({.kind = ErrorKind::disk,
                           .thing = "standard output cannot be written: the result is not complete there",
                           .expected = {},
                           .found = {},
                           .hint = "make space where it goes, then run the same command again"});
  const bool is_work = command == "restore" || command == "fetch";
  return is_work ? code : worse_exit_code(code, exit_code(ErrorKind::disk));
}

std::string shell_quote(const std::string& word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view{"_@%+=:,./-"}.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return out + "'";
}

}  // namespace decant::cli
