// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "decant/base/text.hpp"
#include "decant/base/threads.hpp"
#include "decant/cache/inventory.hpp"
#include "decant/hash/hasher.hpp"
#include "decant/model/json.hpp"
#include "release_options.hpp"
#include "session.hpp"

namespace decant::cli {

namespace {

struct CacheArgs {
  std::string directory;
  std::optional<int> jobs;
  bool all = false;
  bool unreferenced = false;
  std::string older_than;
  bool dry_run = false;
};

cache::Cache cache_of(const CacheArgs& args) {
  if (args.directory.empty() || args.directory == "none")
    throw Error{ErrorKind::usage, "no --download-cache is given",
                "add --download-cache DIR, or set DECANT_DOWNLOAD_CACHE"};
  return cache::Cache{args.directory};
}

report::Result result_of(std::string command, const CacheArgs& args) {
  report::Result result;
  result.command = std::move(command);
  result.source = args.directory;
  return result;
}

std::string json_text(std::string_view text) {
  return model::json_quote(escape_for_display(text));
}

std::string label_of(const cache::StoredRelease& release) {
  const auto& source = release.lock.source;
  const std::string repo =
      source.kind == model::SourceKind::hub ? source.repo : std::string{to_string(source.kind)};
  const std::string pin =
      source.kind == model::SourceKind::hub ? source.commit : release.lock.manifest_sha256.hex();
  return fmt::format("{} {}@{}", release.lock.release_id, repo, pin.substr(0, 12));
}

std::string age_of(std::int64_t time, std::int64_t now) {
  const auto seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(0, now - time));
  constexpr std::uint64_t k_day = 86'400;
  return seconds < 2 * k_day ? format_duration(seconds) : counted(seconds / k_day, "day", "days");
}

std::string list_json(const cache::Inventory& inventory) {
  std::string out;
  for (const auto& release : inventory.releases)
    out += fmt::format(
        "{{\"event\": \"cache_release\", \"path\": {}, \"release_id\": {}, \"commit\": {}, \"modified\": "
        "\"{}\", \"bytes\": {}, \"objects\": {}, \"objects_here\": {}}}\n",
        json_text(release.path), json_text(release.lock.release_id), json_text(release.lock.source.commit),
        format_utc(release.modified), release.bytes, release.objects, release.objects_here);
  for (const auto& object : inventory.objects) {
    std::string releases;
    for (const auto position : object.mentioned)
      releases += (releases.empty() ? "" : ", ") + json_text(inventory.releases[position].path);
    out += fmt::format(
        "{{\"event\": \"cache_object\", \"path\": {}, \"size\": {}, \"modified\": \"{}\", \"sealed\": {}, "
        "\"releases\": [{}]}}\n",
        json_text(object.path), object.size, format_utc(object.modified), object.sealed, releases);
  }
  for (const auto& partial : inventory.partials)
    out += fmt::format(
        "{{\"event\": \"cache_partial\", \"path\": {}, \"landed_bytes\": {}, \"last_sign\": \"{}\", "
        "\"holder\": {}, \"held\": {}}}\n",
        json_text(partial.path), partial.landed_bytes, format_utc(partial.beat), json_text(partial.holder),
        partial.is_held);
  for (const auto& path : inventory.leftovers)
    out += fmt::format("{{\"event\": \"cache_leftover\", \"path\": {}}}\n", json_text(path));
  for (const auto& path : inventory.foreign)
    out += fmt::format("{{\"event\": \"cache_foreign\", \"path\": {}}}\n", json_text(path));
  return out;
}

std::string mentions_of(const cache::Inventory& inventory, const cache::StoredObject& object) {
  if (object.mentioned.empty()) return "-";
  const auto& first = inventory.releases[object.mentioned.front()];
  const std::string more =
      object.mentioned.size() > 1 ? fmt::format(" and {} more", object.mentioned.size() - 1) : "";
  return label_of(first) + more;
}

std::string list_text(const cache::Inventory& inventory, std::int64_t now) {
  using Rows = std::vector<std::vector<std::string>>;
  std::string out;
  const auto add = [&out](const std::vector<ui::Column>& columns, const Rows& rows) {
    if (!rows.empty()) out += ui::render_table(columns, rows) + "\n";
  };
  Rows releases;
  for (const auto& release : inventory.releases)
    releases.push_back({label_of(release), age_of(release.modified, now),
                        fmt::format("{} of {}", release.objects_here, release.objects)});
  add({{"release"}, {"age", true}, {"objects here", true}}, releases);
  Rows objects;
  for (const auto& object : inventory.objects)
    objects.push_back({object.path, format_size(object.size), age_of(object.modified, now),
                       mentions_of(inventory, object) + (object.sealed ? "" : ", never hashed by decant")});
  add({{"object"}, {"size", true}, {"age", true}, {"mentioned by"}}, objects);
  Rows partials;
  for (const auto& partial : inventory.partials)
    partials.push_back({partial.path, format_size(partial.landed_bytes), age_of(partial.beat, now),
                        (partial.is_held ? "held by " : "left by ") + partial.holder});
  add({{"arriving"}, {"landed", true}, {"last sign", true}, {"owner"}}, partials);
  Rows others;
  for (const auto& path : inventory.leftovers)
    others.push_back({escape_for_display(path), "left by a killed run"});
  for (const auto& path : inventory.foreign)
    others.push_back({escape_for_display(path), "not of this cache"});
  add({{"other"}, {""}}, others);
  return out;
}

int run_list(const CacheArgs& args, Session& session) {
  const auto inventory = cache::take_inventory(cache_of(args), session.stop());
  auto result = result_of("cache ls", args);
  for (const auto& path : inventory.foreign)
    result.notes.push_back({.kind = "extra", .tree = "cache", .path = path});
  const auto held = std::ranges::count_if(inventory.partials, &cache::StoredPartial::is_held);
  result.verdict = fmt::format("{}, {}; {} arriving, {}, {} of them held by a living process; {}",
                               counted(inventory.objects.size(), "object", "objects"),
                               format_size(inventory.object_bytes()), inventory.partials.size(),
                               format_size(inventory.partial_bytes()), held,
                               counted(inventory.releases.size(), "release", "releases"));
  session.console().end_progress();
  session.console().out(session.console().json() ? list_json(inventory)
                                                 : list_text(inventory, session.clock().wall_seconds()));
  return session.finish_quietly(result, report::exit_code(result));
}

// Hashes every object; what differs or cannot be read becomes a finding.
class CacheCheck {
 public:
  CacheCheck(const cache::Cache& cache, const cache::Inventory& inventory, Session& session)
      : cache_{cache}, inventory_{inventory}, session_{session} {
    session.reporter().totals(inventory.object_bytes(), 0);
    session.reporter().phase("verify");
    counters_ = session.reporter().part("cache", inventory.object_bytes());
    counters_->phase = progress::PartPhase::fetching;
  }

  void run(int jobs, report::Result& result) {
    ThreadGroup threads;
    const auto count = std::min(inventory_.objects.size(), static_cast<std::size_t>(jobs));
    const auto work = [&] {
      for (std::size_t i = next_++; i < inventory_.objects.size(); i = next_++)
        check(inventory_.objects[i], result);
    };
    for (std::size_t i = 0; i < count; ++i)
      if (!threads.try_start(work)) break;
    work();  // whatever threads there are
    threads.wait();
    counters_->phase = progress::PartPhase::done;
    result.trees["cache"] = counts_;
  }

 private:
  void check(const cache::StoredObject& object, report::Result& result) {
    session_.stop().throw_if_requested();
    const auto finding = look(object);
    counters_->bytes_done += object.size;
    counters_->entries_done += 1;
    const std::lock_guard lock{mutex_};
    ++counts_.expected;
    if (!finding || finding->kind != report::FindingKind::unreadable) {
      ++counts_.hashed;
      counts_.bytes_hashed += object.size;
    }
    if (!finding) return;
    session_.reporter().finding(fmt::format("{} {}", to_string(finding->kind), object.path));
    result.findings.push_back(*finding);
  }

  std::optional<report::Finding> look(const cache::StoredObject& object) const {
    report::Finding finding{.kind = report::FindingKind::differs,
                            .tree = "cache",
                            .path = object.path,
                            .part = {},
                            .expected = object.digest.hex(),
                            .found = {},
                            .note = {}};
    try {
      const auto fd = cache_.open_final(object.digest, object.size);
      if (!fd) {
        finding.kind = report::FindingKind::unstable;
        finding.found = "removed or replaced while it was looked at";
        return finding;
      }
      const auto digest =
          hash::hash_file(fd->get(), object.size, object.digest.algorithm(), object.path, session_.stop());
      if (digest == object.digest) return std::nullopt;
      finding.found = digest.hex();
      finding.note = "restore and fetch remove it when they meet it, and fetch it again";
    } catch (const Error& error) {
      finding.kind = report::FindingKind::unreadable;
      finding.found = error.problem().thing;
    }
    return finding;
  }

  const cache::Cache& cache_;
  const cache::Inventory& inventory_;
  Session& session_;
  std::shared_ptr<progress::PartCounters> counters_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  report::VerifyCounts counts_;
};

int run_verify(const CacheArgs& args, Session& session) {
  const auto started = session.clock().now();
  const auto cache = cache_of(args);
  const auto inventory = cache::take_inventory(cache, session.stop());
  auto result = result_of("cache verify", args);
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  CacheCheck{cache, inventory, session}.run(args.jobs.value_or(cores) - 1, result);
  report::sort_findings(result.findings);
  result.seconds = std::chrono::duration<double>(session.clock().now() - started).count();
  result.verdict = result.findings.empty()
                       ? fmt::format("{} verified, every byte hashed ({})",
                                     counted(inventory.objects.size(), "object", "objects"),
                                     format_size(inventory.object_bytes()))
                       : fmt::format("{} of {} damaged; nothing was removed", result.findings.size(),
                                     counted(inventory.objects.size(), "object", "objects"));
  return session.finish(result, report::exit_code(result));
}

cache::PruneChoice choice_of(const CacheArgs& args) {
  cache::PruneChoice choice{
      .all = args.all, .unreferenced = args.unreferenced, .older_than = {}, .dry_run = args.dry_run};
  if (!args.older_than.empty())
    choice.older_than =
        std::chrono::duration_cast<std::chrono::seconds>(parse_time(args.older_than, "--older-than")).count();
  if (!choice.all && !choice.unreferenced && !choice.older_than)
    throw Error{ErrorKind::usage, "cache prune removes nothing without a choice",
                "choose --unreferenced, --older-than TIME or --all; --dry-run shows what would go"};
  if (choice.all && (choice.unreferenced || choice.older_than))
    throw Error{ErrorKind::usage, "--all leaves nothing to choose", "leave --all or the other choice out"};
  return choice;
}

int run_prune(const CacheArgs& args, Session& session) {
  const auto choice = choice_of(args);
  const auto cache = cache_of(args);
  const auto inventory = cache::take_inventory(cache, session.stop());
  auto result = result_of("cache prune", args);
  const auto pruned = cache::prune(cache, inventory, choice, session.clock().wall_seconds(), session.stop());
  result.problems = pruned.problems;
  auto& console = session.console();
  console.end_progress();
  for (const auto& item : pruned.removed)
    console.out(
        console.json()
            ? fmt::format("{{\"event\": \"cache_removed\", \"kind\": \"{}\", \"path\": {}, \"bytes\": "
                          "{}, \"dry_run\": {}}}\n",
                          item.kind, json_text(item.path), item.bytes, choice.dry_run)
            : fmt::format("{}{} {} ({})\n", choice.dry_run ? "would remove " : "removed ", item.kind,
                          escape_for_display(item.path), format_size(item.bytes)));
  for (const auto& path : pruned.kept)
    console.out(console.json() ? fmt::format("{{\"event\": \"cache_kept\", \"path\": {}}}\n", json_text(path))
                               : fmt::format("kept {}: a living process or another user holds it\n",
                                             escape_for_display(path)));
  if (!console.json())
    for (const auto& problem : result.problems) console.print_problem(problem);
  result.verdict =
      fmt::format("{}: {}, {} freed", choice.dry_run ? "nothing was removed; would be" : "removed",
                  counted(pruned.removed.size(), "item", "items"), format_size(pruned.bytes()));
  return session.finish_quietly(result, report::exit_code(result));
}

using Run = int (*)(const CacheArgs&, Session&);

CLI::App* add(CLI::App& group, Session& session, const std::shared_ptr<CacheArgs>& args, const char* name,
              const char* what, Run run) {
  auto* command = group.add_subcommand(name, what);
  session.bind_environment(
      *command,
      command->add_option("--download-cache", args->directory, "The cache's directory")->type_name("DIR"),
      "DECANT_DOWNLOAD_CACHE");
  command->callback(
      [&session, args, run] { session.set_job([args, run](Session& s) { return run(*args, s); }); });
  return command;
}

}  // namespace

void add_cache_command(CLI::App& app, Session& session) {
  auto args = std::make_shared<CacheArgs>();
  auto* group = app.add_subcommand("cache", "What a download cache holds: ls, verify, prune");
  group->require_subcommand(1);
  auto* list = add(*group, session, args, "ls", "List objects, what is arriving, releases", run_list);
  auto* verify = add(*group, session, args, "verify", "Hash every object; removes nothing", run_verify);
  auto* prune = add(*group, session, args, "prune", "Remove what you choose", run_prune);
  session.bind_environment(*verify,
                           verify->add_option("--jobs", args->jobs, "CPU workers (default: as many as cores)")
                               ->type_name("N")
                               ->check(CLI::Range(1, 1024)),
                           "DECANT_JOBS");
  prune->add_flag("--unreferenced", args->unreferenced, "Objects that no release in the cache mentions");
  prune
      ->add_option("--older-than", args->older_than,
                   "Releases and objects of this age, such as 30d; with --unreferenced both must hold")
      ->type_name("TIME");
  prune->add_flag("--all", args->all, "Everything");
  prune->add_flag("--dry-run", args->dry_run, "Show what would be removed; remove nothing");
  for (auto* command : {list, verify, prune}) session.add_common_options(*command);
}

}  // namespace decant::cli
