// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

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
    return fmt::format("published, {} entries gone", format_count(part.missing_entries));
  if (part.changed_entries > 0)
    return fmt::format("published, {} entries changed since", format_count(part.changed_entries));
  if (part.state == plan::PartState::published) return fmt::format("published {}", format_utc(part.since));
  if (part.state == plan::PartState::partial)
    return fmt::format("partial, {} of {}", format_size(part.present_bytes), format_size(part.size));
  return std::string{to_string(part.state)};
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

  report::Result result;
  result.command = "status";
  result.release_id = opened.lock.release_id;
  result.source = opened.lock.source.repo;
  result.commit = opened.lock.source.commit;
  result.manifest_sha256 = opened.lock.manifest_sha256.hex();
  result.lock_digest = model::lock_digest(opened.lock).hex();
  result.subset = opened.subset;
  std::vector<std::vector<std::string>> rows;
  std::size_t done = 0;
  std::size_t wanted = 0;
  for (const auto& part : parts) {
    const bool there = part.state == plan::PartState::published && part.missing_entries == 0;
    rows.push_back({part.name, format_size(part.size), part.entries > 0 ? format_count(part.entries) : "-",
                    state_text(part)});
    const bool skipped = part.state == plan::PartState::skipped;
    if (!skipped) ++wanted;
    if (there) ++done;
    report::PartResult item;
    item.name = part.name;
    item.size = part.size;
    item.entries = part.entries;
    item.outcome = skipped                                 ? report::PartOutcome::skipped
                   : there                                 ? report::PartOutcome::unchanged
                   : part.state == plan::PartState::staged ? report::PartOutcome::staged
                   : part.state == plan::PartState::cached ? report::PartOutcome::fetched
                                                           : report::PartOutcome::pending;
    result.parts.push_back(std::move(item));
  }
  result.verdict = fmt::format("{} of {} parts are published", done, wanted);
  session.console().end_progress();
  if (!session.console().json()) {
    session.console().out(
        fmt::format("release  {}\nsource   {} {}\nlock     {}\n\n{}\n", escape_for_display(result.release_id),
                    escape_for_display(result.source), result.commit, result.lock_digest,
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
