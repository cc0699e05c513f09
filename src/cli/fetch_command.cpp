// SPDX-License-Identifier: Apache-2.0
#include "release_options.hpp"
#include "session.hpp"

namespace decant::cli {

void add_fetch_command(CLI::App& app, Session& session) {
  auto args = std::make_shared<ReleaseOptions>();
  auto* command = app.add_subcommand("fetch", "Fill a cache that restore --offline starts from");
  add_release_options(*command, session, *args, For::fetch);
  add_wait_option(*command, *args, For::fetch);
  session.add_common_options(*command);
  command->callback([&session, args] {
    session.set_job([args](Session& s) {
      auto job = make_release_job(*args, s, For::fetch);
      s.reporter().phase("plan");
      auto prepared = restore::prepare(job->request, job->services);
      const auto result = restore::run_fetch(*prepared);
      return s.finish(result, report::exit_code(result));
    });
  });
}

}  // namespace decant::cli
