// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "bundle_result.hpp"
#include "decant/base/text.hpp"
#include "decant/verify/release_trees.hpp"
#include "release_options.hpp"
#include "session.hpp"

namespace decant::cli {

namespace {

struct VerifyArgs {
  std::string bundle;
  std::vector<std::string> roots;
  std::vector<std::string> trees;
  std::string runtime;
  std::string swift_source;
  std::string base_model;
  std::vector<std::string> skip;
  bool hash_media = false;
  bool quick = false;
};

// Globs of --skip that choose no path of the release. What an archive holds is only known while it is looked
// at: a glob that may choose something of an archive that nobody looks at is no mistake.
class UnmatchedGlobs {
 public:
  UnmatchedGlobs(const std::vector<std::string>& words, const model::ReleaseManifest& manifest) {
    for (const auto& word : words)
      if (is_glob(word)) globs_.emplace_back(std::vector<std::string>{}, std::vector{word}, manifest);
  }
  void look_at(const model::PartSpec& part) {
    std::erase_if(globs_, [&](const model::Selection& skip) { return !skip.wants_whole_part(part); });
  }
  void look_at(const model::PartSpec& part, const model::PartIndex& index) {
    std::erase_if(globs_, [&](const model::Selection& skip) {
      return !skip.wants_part(part) || std::ranges::any_of(index.entries, [&](const auto& entry) {
        return !skip.wants_entry(part, part.under / entry.path);
      });
    });
  }
  std::vector<std::string> words() const {
    std::vector<std::string> out;
    for (const auto& skip : globs_) out.push_back(skip.skip().front());
    return out;
  }

 private:
  std::vector<model::Selection> globs_;
};

// What the release expects of this machine, and what of it the restore has not brought yet.
struct Expectations {
  verify::ReleaseTrees trees;
  std::vector<std::string> unpublished;  // parts that are wanted
  std::size_t wanted_parts = 0;
  std::vector<std::string> unmatched_globs;

  bool is_finished() const { return unpublished.empty(); }
  bool is_empty() const {
    return std::ranges::all_of(trees.trees, [](const verify::Tree& tree) { return tree.entries.empty(); });
  }
};

Expectations expectations_of(const restore::OpenedBundle& opened, const model::Selection& selection,
                             const VerifyArgs& args) {
  Expectations out;
  const auto lock = model::lock_digest(opened.lock);
  UnmatchedGlobs globs{args.skip, opened.manifest};
  const auto published_record = [&](const model::PartSpec& part) {
    auto record = opened.bundle.read_record(part.name, lock);
    // Staged anew over published entries: these must still be what the index says.
    const bool counts = record && (record->stage == state::Stage::published || record->published_before);
    return counts ? std::move(record) : std::nullopt;
  };
  for (const auto& part : opened.manifest.parts) {
    if (!selection.wants_part(part) || part.kind != model::PartKind::unpack) globs.look_at(part);
    if (!selection.wants_part(part)) continue;
    ++out.wanted_parts;
    if (!published_record(part)) out.unpublished.push_back(part.name);
  }

  verify::ReleaseView view;
  view.manifest = &opened.manifest;
  view.selection = &selection;
  view.index_of = [&](const model::PartSpec& part) -> std::optional<verify::KnownIndex> {
    const auto record = published_record(part);
    auto index = record ? opened.bundle.read_index(part.name, record->index_sha256) : std::nullopt;
    if (!index) {
      globs.look_at(part);
      return std::nullopt;
    }
    globs.look_at(part, *index);
    return verify::KnownIndex{.index = std::move(*index), .origin = verify::Origin::learned_index};
  };
  view.is_published = [&](const model::PartSpec& part) {
    return std::ranges::find(out.unpublished, part.name) == out.unpublished.end();
  };
  view.root_paths = opened.root_paths;
  const auto roots = opened.manifest.root_names();
  for (const auto& [name, place] : parse_places(args.roots, "--root")) {
    if (std::ranges::find(roots, name) == roots.end())
      throw Error{ErrorKind::usage,
                  fmt::format("the release has no root named '{}'", escape_for_display(name)),
                  fmt::format("its roots are: {}", fmt::join(roots, ", "))};
    view.root_paths[name] = place;
  }
  view.tree_paths = parse_places(args.trees, "--tree");
  for (const auto& [name, place] : {std::pair{std::string{"runtime"}, args.runtime},
                                    std::pair{std::string{"swift-source"}, args.swift_source},
                                    std::pair{std::string{"base-model"}, args.base_model}})
    if (!place.empty()) view.tree_paths[name] = place;
  out.trees = verify::trees_of(view);
  out.unmatched_globs = globs.words();
  // Parts that were never published are not a difference: the restore has not come to its end.
  std::erase_if(out.trees.findings, [&](const report::Finding& finding) {
    return finding.kind == report::FindingKind::unverifiable &&
           std::ranges::find(out.unpublished, finding.part) != out.unpublished.end();
  });
  return out;
}

// What to do about what restore can bring back; of external trees that is not its business.
std::string advice(const report::Result& result, const model::ReleaseManifest& manifest,
                   const std::string& bundle) {
  bool is_damaged = false;
  bool is_missing = false;
  for (const auto& finding : result.findings) {
    const bool is_external = std::ranges::any_of(manifest.trees, [&](const model::TreeSpec& tree) {
      return tree.external && tree.name == finding.tree;
    });
    if (is_external) continue;
    switch (finding.kind) {
      case report::FindingKind::missing:
        is_missing = true;
        break;
      case report::FindingKind::differs:
      case report::FindingKind::truncated:
      case report::FindingKind::longer:
      case report::FindingKind::wrong_type:
      case report::FindingKind::mode:
      case report::FindingKind::link_target:
        is_damaged = true;
        break;
      default:
        break;
    }
  }
  if (!is_damaged && !is_missing) return {};
  return fmt::format(
      "{}decant restore --bundle {} --reextract",
      is_damaged ? "move away what is damaged, since nothing is overwritten; then run: " : "run: ",
      shell_quote(bundle));
}

int run(const VerifyArgs& args, Session& session) {
  if (args.bundle.empty())
    throw Error{ErrorKind::usage, "no --bundle is given", "add --bundle DIR, or set DECANT_BUNDLE"};
  if (args.quick && args.hash_media)
    throw Error{ErrorKind::usage, "--quick and --hash-media exclude each other", "leave one of them out"};
  const auto started = session.clock().now();
  const auto opened = restore::open_bundle(args.bundle);

  auto words = opened.selection.skip();
  words.insert(words.end(), args.skip.begin(), args.skip.end());
  const model::Selection selection{opened.selection.only(), words, opened.manifest};

  auto result = result_about(opened, "verify");
  auto expected = expectations_of(opened, selection, args);
  // A glob that fits nothing leaves nothing out.
  result.subset = opened.subset || args.skip.size() > expected.unmatched_globs.size();
  for (const auto& word : expected.unmatched_globs)
    session.reporter().message(
        progress::Level::warning,
        fmt::format("--skip {}: no path of the release matches", escape_for_display(word)));
  if (!expected.is_finished())
    result.problems.push_back(
        {.kind = ErrorKind::incomplete,
         .thing = fmt::format("the restore is not finished: {} of {} parts are not published",
                              expected.unpublished.size(), expected.wanted_parts),
         .expected = "all parts published",
         .found = fmt::format("missing: {}", fmt::join(expected.unpublished, ", ")),
         .hint = "run decant restore again, then verify"});
  result.findings = std::move(expected.trees.findings);
  const bool proves_nothing =
      expected.is_finished() && expected.is_empty() && result.findings.empty() && result.subset;
  if (proves_nothing)
    result.problems.push_back(
        {.kind = ErrorKind::usage,
         .thing = "the selection leaves nothing to verify",
         .expected = "at least one entry",
         .found = args.skip.empty()
                      ? "none of what the last restore selected"
                      : fmt::format("none outside --skip {}",
                                    escape_for_display(fmt::format("{}", fmt::join(args.skip, ", --skip ")))),
         .hint = "skip less"});
  for (const auto& finding : result.findings)
    session.reporter().finding(
        fmt::format("{} {} {}", to_string(finding.kind), finding.tree, escape_for_display(finding.path)));

  verify::VerifyOptions options;
  options.level = args.quick        ? verify::Level::quick
                  : args.hash_media ? verify::Level::every_byte
                                    : verify::Level::standard;
  session.reporter().phase("verify");
  if (!expected.trees.trees.empty())  // no digest of nothing
    verify::prove(expected.trees.trees, options, session.reporter(), session.stop(), result);
  if (!expected.is_finished()) {
    // A digest of less than the release looks like one to compare, and is not.
    result.digests.clear();
    result.bundle_digest.reset();
  }
  report::sort_findings(result.findings);
  result.seconds = std::chrono::duration<double>(session.clock().now() - started).count();
  result.verdict = !expected.is_finished() && result.findings.empty()
                       ? "not complete: the restore is not finished"
                       : verify::verdict(result);
  if (args.quick) result.verdict += "; structure: not checked";
  result.next = advice(result, opened.manifest, args.bundle);
  return session.finish(result, report::exit_code(result));
}

}  // namespace

void add_verify_command(CLI::App& app, Session& session) {
  auto args = std::make_shared<VerifyArgs>();
  auto* command =
      app.add_subcommand("verify", "Prove that what lies on disk is the release; offline, read-only");
  session.bind_environment(
      *command,
      command->add_option("--bundle", args->bundle, "Directory the release was restored into")
          ->type_name("DIR"),
      "DECANT_BUNDLE");
  command->add_option("--root", args->roots, "Where a root lies now: NAME=DIR (repeatable)")
      ->type_name("NAME=DIR");
  command->add_option("--tree", args->trees, "Where a declared tree lies: NAME=DIR (repeatable)")
      ->type_name("NAME=DIR");
  command->add_option("--runtime", args->runtime, "Same as --tree runtime=DIR")->type_name("DIR");
  command->add_option("--swift-source", args->swift_source, "Same as --tree swift-source=DIR")
      ->type_name("DIR");
  command->add_option("--base-model", args->base_model, "Same as --tree base-model=DIR")->type_name("DIR");
  command->add_option("--skip", args->skip, "All but this tag, part, tree or glob of paths (repeatable)")
      ->type_name("WORD");
  command->add_flag("--hash-media", args->hash_media, "Also hash every image and video frame");
  command->add_flag("--quick", args->quick, "Presence, type and size only");
  session.add_common_options(*command);
  command->callback([&session, args] { session.set_job([args](Session& s) { return run(*args, s); }); });
}

}  // namespace decant::cli
