// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "decant/base/text.hpp"
#include "session.hpp"

namespace decant::cli {

namespace {

constexpr const char* k_footer =
    R"(Exit codes: 0 all there, 1 differences found, 2 usage, 3 not complete yet, 4 network,
5 access, 6 disk, 7 conflict, 8 integrity, 9 busy, 10 lock or state, 70 a bug.
)";

std::string chosen_command(const CLI::App& app) {
  for (const auto* command : app.get_subcommands()) {
    const std::string below = chosen_command(*command);
    return below.empty() ? command->get_name() : command->get_name() + " " + below;
  }
  return {};
}

// CLI11 would only say that a command is required.
bool is_unknown_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return false;
  return app
      .get_subcommands([&](const CLI::App* command) { return command->get_name() == arguments.front(); })
      .empty();
}

// CLI11 reads "--release=" as "--release" whose value is the next word.
std::vector<std::string> with_empty_values(const std::vector<std::string>& arguments) {
  std::vector<std::string> out;
  for (const auto& word : arguments) {
    const bool has_empty_value = word.starts_with("--") && word.find('=') + 1 == word.size();
    out.push_back(has_empty_value ? word.substr(0, word.size() - 1) : word);
    if (has_empty_value) out.emplace_back();
  }
  return out;
}

}  // namespace

int run(std::vector<std::string> arguments, Io io) {
  Session session{std::move(io)};
  CLI::App app{"Restore a frozen training release, and prove that what lies on disk is that release",
               "decant"};
  app.set_version_flag("--version", fmt::format("decant {}", k_version));
  app.require_subcommand(1);
  app.footer(k_footer);
  app.get_formatter()->column_width(34);
  add_restore_command(app, session);
  add_plan_command(app, session);
  add_fetch_command(app, session);
  add_verify_command(app, session);
  add_status_command(app, session);
  add_cache_command(app, session);
  const bool wants_json = std::ranges::find(arguments, "--json") != arguments.end();
  try {
    if (is_unknown_command(app, arguments))
      throw CLI::ExtrasError{fmt::format("there is no command '{}'", arguments.front()),
                             CLI::ExitCodes::ExtrasError};
    arguments = with_empty_values(arguments);
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them last first
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return session.parse_ended(app, error, wants_json);
  }
  return session.run_job(chosen_command(app));
}

}  // namespace decant::cli
