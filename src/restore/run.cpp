// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "decant/base/text.hpp"
#include "decant/base/threads.hpp"
#include "decant/publish/publish.hpp"
#include "places.hpp"
#include "staging.hpp"

namespace decant::restore {

namespace {

report::PartOutcome outcome_of(ErrorKind kind) {
  return kind == ErrorKind::conflict ? report::PartOutcome::conflict : report::PartOutcome::failed;
}

class RestoreRun {
 public:
  explicit RestoreRun(Prepared& prepared)
      : p_{prepared}, result_{describe(prepared, "restore")}, shop_{prepared} {}

  report::Result run() {
    const auto started = p_.services.clock->now();
    try {
      steps();
    } catch (const Interrupted& interrupted) {
      result_.stopped_by = interrupted.signal;
      result_.verdict = "stopped by a signal; what has arrived is kept, run the same line again to go on";
    } catch (const Error& error) {
      result_.problems.push_back(error.problem());
    }
    for (const auto& part : result_.parts) {
      result_.bytes_from_network += part.bytes_from_network;
    }
    result_.bytes_written = shop_.bytes_written;
    result_.dropped_places = shop_.dropped();
    result_.seconds = std::chrono::duration<double>(p_.services.clock->now() - started).count();
    if (result_.verdict.empty()) result_.verdict = verdict();
    return std::move(result_);
  }

 private:
  void steps() {
    for (std::size_t i = 0; i < p_.parts.size(); ++i) {
      if (p_.parts[i].problem) {
        fail(i, *p_.parts[i].problem);
      } else if (p_.parts[i].selected && is_done(p_.parts[i])) {
        result_.parts[i].outcome = report::PartOutcome::unchanged;
      }
    }
    refuse_words_without_effect(p_);
    const bool nothing_to_do = std::ranges::all_of(
        p_.parts, [](const PartWork& part) { return !part.selected || part.problem || is_done(part); });
    const bool conflicting =
        std::ranges::any_of(p_.parts, [](const PartWork& part) { return !part.conflicts.empty(); });
    if (nothing_to_do && !conflicting && p_.lock_on_disk) {
      // verify goes by the last choice; the rest of the disk stays as it is.
      if (p_.bundle->read_selection(p_.lock_digest) != selection_words() ||
          p_.bundle->read_roots() != recorded_roots() ||
          (!p_.manifest_bytes.empty() && !p_.bundle->read_manifest(p_.lock.manifest_sha256)))
        open_bundle_for_writing();
      clean_up_after_a_kill();
      keep_renewed_marks();
      result_.verdict = unchanged_verdict();
      return;
    }
    p_.reporter().phase("plan");
    const auto plan = plan_of(p_);
    for (const auto& problem : plan.problems) {
      const bool of_a_part = std::ranges::any_of(p_.parts, [&](const PartWork& part) {
        return part.problem && part.problem->thing == problem.thing;
      });
      if (!of_a_part) result_.problems.push_back(problem);
    }
    take_conflicts(p_.conflicts);
    if (!result_.problems.empty() || !result_.conflicts.empty()) return;

    if (const auto& source = p_.lock.source; !p_.lock_on_disk && source.requested_revision != source.commit)
      p_.reporter().message(progress::Level::info,
                            fmt::format("{} is commit {}; it is pinned in restore_lock.json",
                                        escape_for_display(source.requested_revision), source.commit));
    say_who_is_unreachable(p_);
    open_bundle_for_writing();
    p_.reporter().totals(plan.fetch_total + plan.present_total, plan.present_total);
    p_.reporter().phase("fetch");
    open_roots();
    stage_parts();
    p_.stop().throw_if_requested();
    const bool all_staged = std::ranges::none_of(p_.parts, [](const PartWork& part) {
      return part.selected && !part.problem && !is_done(part) && part.state != plan::PartState::staged;
    });
    if (!all_staged) return;
    refuse_words_without_effect(p_);
    publish_parts();
  }

  static bool is_done(const PartWork& part) {
    return part.state == plan::PartState::published && !part.has_needs();
  }

  void fail(std::size_t i, const Problem& problem) {
    result_.parts[i].outcome = outcome_of(problem.kind);
    result_.parts[i].problem = problem;
  }

  state::RootMap recorded_roots() const {
    state::RootMap roots;
    for (const auto& [name, place] : p_.roots) roots.emplace(name, place.recorded);
    return roots;
  }

  state::SelectionWords selection_words() const { return {.only = p_.request.only, .skip = p_.request.skip}; }

  // A copied bundle has other inode numbers: written down once, so that the next run need not hash it all
  // again. Only a saving: where it cannot be written (a read-only copy, another process at work) nothing is
  // wrong.
  void keep_renewed_marks() {
    if (std::ranges::none_of(p_.parts, &PartWork::marks_renewed)) return;
    try {
      open_bundle_for_writing();
      for (const auto& part : p_.parts)
        if (part.marks_renewed && !part.problem) p_.bundle->write_record(*part.record, p_.lock_digest);
    } catch (const Error& error) {
      p_.reporter().message(progress::Level::detail, error.what());
    }
  }

  void take_conflicts(std::vector<report::Conflict> conflicts) {
    for (auto& part : result_.parts)
      if (std::ranges::find(conflicts, part.name, &report::Conflict::part) != conflicts.end())
        part.outcome = report::PartOutcome::conflict;
    result_.conflicts = std::move(conflicts);
  }

  void open_bundle_for_writing() {
    if (!p_.bundle) p_.bundle.emplace(state::Bundle::open(p_.request.bundle, fs::Missing::create));
    if (const auto obstacle = p_.bundle->obstacle(); obstacle && obstacle->kind != ErrorKind::busy)
      throw Error{*obstacle};
    std::string holder;
    if (p_.bundle->claim(&holder) == state::Ownership::busy)
      throw Error{state::busy_problem(p_.request.bundle, holder)};
    // Between our first look and the claim another process may have finished.
    const auto lock = p_.bundle->read_lock();
    if (lock && model::lock_digest(*lock) != p_.lock_digest)
      throw Error{Problem{.kind = ErrorKind::state,
                          .thing = "the bundle was locked to something else meanwhile",
                          .expected = "lock " + p_.lock_digest.hex(),
                          .found = "lock " + model::lock_digest(*lock).hex(),
                          .hint = "run the same line again to see both values"}};
    if (!lock) p_.bundle->write_lock(p_.lock);
    p_.lock_on_disk = true;
    if (!p_.manifest_bytes.empty() && !p_.bundle->read_manifest(p_.lock.manifest_sha256))
      p_.bundle->write_manifest(p_.manifest_bytes);
    if (p_.bundle->read_roots() != recorded_roots()) p_.bundle->write_roots(recorded_roots());
    if (p_.bundle->read_selection(p_.lock_digest) != selection_words())
      p_.bundle->write_selection(selection_words(), p_.lock_digest);
  }

  void open_roots() {
    for (const auto& part : p_.parts) {
      if (!part.selected || is_done(part) || roots_.contains(part.spec.root)) continue;
      const auto& place = p_.roots.at(part.spec.root);
      auto dir = fs::DirHandle::open(place.path, fs::Missing::create);
      std::string name;
      auto staging = p_.bundle->open_staging(part.spec.root, dir, p_.lock_digest, &name);
      roots_.emplace(part.spec.root,
                     OpenRoot{.dir = std::move(dir), .staging = std::move(staging), .staging_name = name});
    }
  }

  void stage_parts() {
    std::vector<std::size_t> todo;
    for (std::size_t i = 0; i < p_.parts.size(); ++i)
      if (p_.parts[i].has_work()) todo.push_back(i);
    std::vector<std::shared_ptr<progress::PartCounters>> counters(p_.parts.size());
    for (const auto i : todo) counters[i] = p_.reporter().part(p_.parts[i].spec.name, p_.parts[i].size());
    const auto who_brings = [&](std::size_t position) -> std::optional<cache::Claim> {
      const auto& part = p_.parts[todo[position]];
      if (!p_.cache || !part.is_archive()) return std::nullopt;
      return p_.cache->claimed_by_other(*part.spec.file.digest, part.size());
    };
    WorkQueue queue{todo.size(), p_, who_brings,
                    [&](std::size_t position) { return "part " + p_.parts[todo[position]].spec.name; }};
    ThreadGroup threads;
    const auto count = std::min(todo.size(), static_cast<std::size_t>(shop_.stage_threads));
    start_workers(threads, count, [&] {
      while (const auto item = queue.next()) {
        const auto i = todo[item->index];
        try {
          stage_part(i, counters[i], item->others);
        } catch (const ClaimedByOther& other) {
          counters[i]->phase = progress::PartPhase::waiting;
          queue.put_back(item->index, other);
        }
      }
    });
    threads.wait();
  }

  void stage_part(std::size_t i, const std::shared_ptr<progress::PartCounters>& counters, Others others) {
    auto& part = p_.parts[i];
    auto& out = result_.parts[i];
    try {
      const auto& root = roots_.at(part.spec.root);
      if (part.is_archive()) {
        stage_archive(shop_, *p_.bundle, root, part, counters, others, out);
      } else {
        stage_files(shop_, *p_.bundle, root, part, counters, out);
      }
      out.outcome = report::PartOutcome::staged;
    } catch (const Error& error) {
      auto problem = error.problem();
      problem.thing = fmt::format("part {}: {}", part.spec.name, problem.thing);
      counters->phase = progress::PartPhase::failed;
      p_.reporter().problem(problem);
      fail(i, problem);
    }
  }

  void publish_parts() {
    p_.reporter().phase("publish");
    std::vector<publish::StagedPart> staged;
    std::vector<fs::DirHandle> trees;
    trees.reserve(p_.parts.size());
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < p_.parts.size(); ++i) {
      auto& part = p_.parts[i];
      if (!part.selected || part.state != plan::PartState::staged) continue;
      const auto& root = roots_.at(part.spec.root);
      trees.push_back(root.staging.make_dirs(tree_dir(part), 0755));
      drop_unwanted(p_, part, trees.back());
      staged.push_back({.name = part.spec.name,
                        .root_name = part.spec.root,
                        .root = &root.dir,
                        .stage = &trees.back(),
                        .under = part.is_archive() ? part.spec.under : fs::RelPath{},
                        .index = &*part.index,
                        .marks = &part.record->marks});
      positions.push_back(i);
    }
    std::vector<report::Conflict> conflicts;
    for (const auto& conflict : publish::find_conflicts(staged, p_.stop()))
      conflicts.push_back(to_report(conflict));
    for (auto& conflict : conflicts_of_nested_roots(p_)) conflicts.push_back(std::move(conflict));
    take_conflicts(std::move(conflicts));
    if (!result_.conflicts.empty()) return;
    refuse_lost_ownership(*p_.bundle);
    publish::publish(staged, p_.reporter(), p_.stop());
    for (const auto i : positions) {
      auto& part = p_.parts[i];
      part.record->stage = state::Stage::published;
      part.record->staging.clear();
      part.record->finished = p_.services.clock->wall_seconds();
      p_.bundle->write_record(*part.record, p_.lock_digest);
      part.state = plan::PartState::published;
      result_.parts[i].outcome = report::PartOutcome::published;
      result_.parts[i].entries = static_cast<std::uint64_t>(std::ranges::count_if(
          part.record->marks, [](const state::EntryMark& mark) { return mark.place != state::Place::none; }));
    }
    remove_staging();
  }

  // What other selections have staged or begun to fetch is still of use: then only this run's directories go.
  void remove_staging() {
    for (const auto& [name, place] : p_.roots) {
      const auto dir = fs::DirHandle::open_if_there(place.path);
      if (!dir) continue;
      std::string relative;
      const auto staging = p_.bundle->find_staging(name, *dir, p_.lock_digest, &relative);
      bool keep = false;
      for (const auto& part : p_.parts) {
        if (!staging || part.spec.root != name) continue;
        if (part.selected) {
          if (is_done(part)) staging->remove_tree(part_dir(part));
        } else if (staging->stat(part_dir(part))) {
          keep = true;
        }
      }
      if (!keep) p_.bundle->remove_staging(name, *dir, p_.lock_digest);
    }
  }

  // A run that was killed after it had published everything left its staging directories and its claim.
  void clean_up_after_a_kill() {
    if (!p_.bundle->has_leftovers()) return;
    try {
      if (p_.bundle->claim(nullptr) == state::Ownership::taken) remove_staging();
    } catch (const Error& error) {
      p_.reporter().message(progress::Level::warning,
                            "what a killed run left cannot be removed: " + error.problem().thing);
    }
  }

  std::string unchanged_verdict() const {
    if (std::ranges::any_of(p_.parts, [](const PartWork& part) { return part.problem.has_value(); }))
      return verdict();
    std::int64_t since = 0;
    for (const auto& part : p_.parts)
      if (part.record) since = std::max(since, part.record->finished);
    return fmt::format("unchanged since {}; bytes are proven by decant verify", format_utc(since));
  }

  // Of the parts that this run had to do with.
  std::string entry_words() const {
    std::uint64_t entries = 0;
    std::uint64_t written = 0;
    for (const auto& part : result_.parts) {
      if (part.outcome != report::PartOutcome::published) continue;
      entries += part.entries;
      written += part.written;
    }
    if (written >= entries) return counted(entries, "entry", "entries") + " restored";
    return fmt::format("{} in place, {} of them written by this run", counted(entries, "entry", "entries"),
                       format_count(written));
  }

  std::string verdict() const {
    const int code = report::exit_code(result_);
    if (code == 0)
      return fmt::format("done: {}{}; bytes on disk are proven by decant verify", entry_words(),
                         result_.subset ? " (a subset of the release)" : "");
    if (!result_.conflicts.empty())
      return fmt::format("nothing was published: {} other content; staged work is kept",
                         counted(result_.conflicts.size(), "path holds", "paths hold"));
    const auto staged =
        std::ranges::count(result_.parts, report::PartOutcome::staged, &report::PartResult::outcome);
    const auto failed =
        std::ranges::count(result_.parts, report::PartOutcome::failed, &report::PartResult::outcome) +
        std::ranges::count(result_.parts, report::PartOutcome::conflict, &report::PartResult::outcome);
    if (failed > 0)
      return fmt::format("not complete: {} of {} parts failed, {} staged and kept; nothing new was published",
                         failed, result_.parts.size(), staged);
    return "not complete";
  }

  Prepared& p_;
  report::Result result_;
  Workshop shop_;
  std::map<std::string, OpenRoot> roots_;
};

}  // namespace

report::Result run_restore(Prepared& prepared) {
  return RestoreRun{prepared}.run();
}

}  // namespace decant::restore
