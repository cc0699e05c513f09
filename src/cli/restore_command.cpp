// SPDX-License-Identifier: Apache-2.0
#include "release_options.hpp"
#include "session.hpp"

namespace decant::cli {

namespace {

int run_plan(const ReleaseOptions& options, Session& session, std::string command) {
  auto job = make_release_job(options, session, For::restore);
  session.reporter().phase("plan");
  auto prepared = restore::prepare(job->request, job->services);
  const auto plan = restore::make_plan(*prepared);
  session.console().end_progress();
  session.console().out(session.console().json() ? ui::render_plan_json(plan)
                                                 : ui::render_plan(plan, session.console().color_out()));
  auto result = restore::describe(*prepared, std::move(command));
  result.problems = plan.problems;
  result.verdict = plan.exit_code == 0 ? "restore would succeed now" : "restore would not succeed now";
  return session.conclude(result, plan.exit_code);
}

int run_restore(const ReleaseOptions& options, Session& session) {
  auto job = make_release_job(options, session, For::restore);
  session.reporter().phase("plan");
  const auto result = restore::restore_in_turn(job->request, job->services);
  return session.finish(result, report::exit_code(result));
}

}  // namespace

void add_restore_command(CLI::App& app, Session& session) {
  struct Args {
    ReleaseOptions release;
    bool plan_only = false;
  };
  auto args = std::make_shared<Args>();
  auto* command =
      app.add_subcommand("restore", "Bring a release onto this machine, or go on where it stopped");
  add_release_options(*command, session, args->release, For::restore);
  command->add_flag("--plan-only,--dry-run", args->plan_only,
                    "Show what would be done; write nothing at all");
  add_wait_option(*command, args->release, For::restore);
  session.add_common_options(*command);
  command->callback([&session, args] {
    session.set_job([args](Session& s) {
      return args->plan_only ? run_plan(args->release, s, "plan") : run_restore(args->release, s);
    });
  });
}

void add_plan_command(CLI::App& app, Session& session) {
  auto args = std::make_shared<ReleaseOptions>();
  auto* command = app.add_subcommand("plan", "Show what restore would do; write nothing at all");
  add_release_options(*command, session, *args, For::restore);
  session.add_common_options(*command);
  command->callback(
      [&session, args] { session.set_job([args](Session& s) { return run_plan(*args, s, "plan"); }); });
}

}  // namespace decant::cli
