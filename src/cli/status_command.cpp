// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "bundle_result.hpp"
#include "decant/base/text.hpp"
#include "decant/restore/restore.hpp"
#include "session.hpp"

namespace decant::cli {

namespace {

struct StatusArgs {
  std::string bundle;
  std::string cache;
};

std::string state_text(const restore::PartStatus& part) {
  if (part.missing_entries > 0)
    return fmt::format("published, {} gone", counted(part.missing_entries, "entry", "entries"));
  if (part.changed_entries > 0)
    return fmt::format("published, {} changed since, run decant verify",
                       counted(part.changed_entries, "entry", "entries"));
  if (part.state == plan::PartState::published) return fmt::format("published {}", format_utc(part.since));
  if (part.state == plan::PartState::partial)
    return fmt::format("partial, {} of {}", format_size(part.present_bytes), format_size(part.size));
  return std::string{to_string(part.state)};
}

// One stat tells that an entry changed, not into what: nobody knows whether it is still the release.
std::optional<Problem> doubt_about(const restore::PartStatus& part) {
  if (part.missing_entries == 0 && part.changed_entries == 0) return std::nullopt;
  return Problem{.kind = ErrorKind::incomplete,
                 .thing = fmt::format("part {}: {} gone, {} changed since", part.name,
                                      counted(part.missing_entries, "entry", "entries"),
                                      format_count(part.changed_entries)),
                 .expected = {},
                 .found = {},
                 .hint = part.missing_entries > 0 ? "run decant restore: it says what is missing"
                                                  : "run decant verify: it tells whether their bytes differ"};
}

report::PartOutcome outcome_of(const restore::PartStatus& part) {
  switch (part.state) {
    case plan::PartState::skipped:
      return report::PartOutcome::skipped;
    case plan::PartState::published:
      return doubt_about(part) ? report::PartOutcome::pending : report::PartOutcome::unchanged;
    case plan::PartState::staged:
      return report::PartOutcome::staged;
    case plan::PartState::cached:
      return report::PartOutcome::fetched;
    case plan::PartState::partial:
    case plan::PartState::missing:
      return report::PartOutcome::pending;
  }
  return report::PartOutcome::pending;
}

int run(const StatusArgs& args, Session& session) {
  if (args.bundle.empty())
    throw Error{ErrorKind::usage, "no --bundle is given", "add --bundle DIR, or set DECANT_BUNDLE"};
  const auto opened = restore::open_bundle(args.bundle);
  std::optional<cache::Cache> cache;
  if (args.cache.empty())
    cache.emplace(args.bundle + "/.decant/cache");
  else if (args.cache != "none")
    cache.emplace(args.cache);
  const auto parts = restore::status(opened, cache);

  auto result = result_about(opened, "status");
  std::vector<std::vector<std::string>> rows;
  std::size_t published = 0;
  std::size_t in_doubt = 0;
  std::size_t wanted = 0;
  for (const auto& part : parts) {
    rows.push_back({part.name, format_size(part.size), part.entries > 0 ? format_count(part.entries) : "-",
                    state_text(part)});
    report::PartResult item;
    item.name = part.name;
    item.size = part.size;
    item.entries = part.entries;
    item.outcome = outcome_of(part);
    item.problem = doubt_about(part);
    if (part.state != plan::PartState::skipped) ++wanted;
    if (item.outcome == report::PartOutcome::unchanged) ++published;
    if (part.missing_entries == 0 && part.changed_entries > 0) ++in_doubt;
    result.parts.push_back(std::move(item));
  }
  result.verdict = fmt::format("{} of {} parts are published", published, wanted);
  if (in_doubt > 0)
    result.verdict += fmt::format(" and unchanged; {} changed since, run decant verify", in_doubt);
  session.console().end_progress();
  if (!session.console().json()) {
    session.console().out(
        fmt::format("release  {}\nsource   {}{}{}\nlock     {}\n\n{}\n",
                    escape_for_display(result.release_id), escape_for_display(result.source),
                    result.commit.empty() ? "" : " ", result.commit, result.lock_digest,
                    ui::render_table({{"part"}, {"size", true}, {"entries", true}, {"state"}}, rows)));
  }
  return session.finish_quietly(result, report::exit_code(result));
}

}  // namespace

void add_status_command(CLI::App& app, Session& session) {
  auto args = std::make_shared<StatusArgs>();
  auto* command = app.add_subcommand("status", "What is locked, fetched, staged and published; offline");
  session.bind_environment(
      *command,
      command->add_option("--bundle", args->bundle, "Directory the release was restored into")
          ->type_name("DIR"),
      "DECANT_BUNDLE");
  session.bind_environment(*command,
                           command
                               ->add_option("--download-cache", args->cache,
                                            "Directory of downloads (default: BUNDLE/.decant/cache)")
                               ->type_name("DIR"),
                           "DECANT_DOWNLOAD_CACHE");
  session.add_common_options(*command);
  command->callback([&session, args] { session.set_job([args](Session& s) { return run(*args, s); }); });
}

}  // namespace decant::cli
