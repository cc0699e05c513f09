// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

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

int run(const VerifyArgs& args, Session& session) {
  if (args.bundle.empty())
    throw Error{ErrorKind::usage, "no --bundle is given", "add --bundle DIR, or set DECANT_BUNDLE"};
  if (args.quick && args.hash_media)
    throw Error{ErrorKind::usage, "--quick and --hash-media exclude each other", "leave one of them out"};
  const auto started = session.clock().now();
  auto opened = restore::open_bundle(args.bundle);

  auto words = opened.selection.skip();
  words.insert(words.end(), args.skip.begin(), args.skip.end());
  const model::Selection selection{opened.selection.only(), words, opened.manifest};

  report::Result result;
  result.command = "verify";
  result.release_id = opened.lock.release_id;
  result.source = opened.lock.source.repo;
  result.commit = opened.lock.source.commit;
  result.manifest_sha256 = opened.lock.manifest_sha256.hex();
  const auto lock = model::lock_digest(opened.lock);
  result.lock_digest = lock.hex();
  result.subset = !selection.is_everything();

  // Is the restore itself finished? Its records say so.
  verify::ReleaseView view;
  view.manifest = &opened.manifest;
  view.selection = &selection;
  view.index_of = [&](const model::PartSpec& part) -> std::optional<verify::KnownIndex> {
    const auto record = opened.bundle.read_record(part.name, lock);
    if (!record || record->stage != state::Stage::published) return std::nullopt;
    auto index = opened.bundle.read_index(part.name, record->index_sha256);
    if (!index) return std::nullopt;
    return verify::KnownIndex{.index = std::move(*index), .origin = verify::Origin::learned_index};
  };
  view.is_published = [&](const model::PartSpec& part) {
    const auto record = opened.bundle.read_record(part.name, lock);
    return record && record->stage == state::Stage::published;
  };
  view.root_paths = opened.root_paths;
  for (const auto& [name, place] : parse_places(args.roots, "--root")) view.root_paths[name] = place;
  view.tree_paths = parse_places(args.trees, "--tree");
  for (const auto& [name, place] : {std::pair{std::string{"runtime"}, args.runtime},
                                    std::pair{std::string{"swift-source"}, args.swift_source},
                                    std::pair{std::string{"base-model"}, args.base_model}})
    if (!place.empty()) view.tree_paths[name] = place;

  auto trees = verify::trees_of(view);
  const bool finished = std::ranges::none_of(opened.manifest.parts, [&](const model::PartSpec& part) {
    return selection.wants_part(part) && !view.is_published(part);
  });
  if (!finished) {
    // Parts that were never published are not a difference: the restore has not come to its end.
    std::erase_if(trees.findings, [](const report::Finding& finding) {
      return finding.kind == report::FindingKind::unverifiable && !finding.part.empty();
    });
    result.problems.push_back(
        {.kind = ErrorKind::incomplete,
         .thing = fmt::format("the restore is not finished: {} of {} parts are not published",
                              trees.parts_without_index.size(), opened.manifest.parts.size()),
         .expected = "all parts published",
         .found = fmt::format("missing: {}", fmt::join(trees.parts_without_index, ", ")),
         .hint = "run decant restore again, then verify"});
  }
  result.findings = std::move(trees.findings);
  for (const auto& finding : result.findings)
    session.reporter().finding(
        fmt::format("{} {} {}", to_string(finding.kind), finding.tree, escape_for_display(finding.path)));

  verify::VerifyOptions options;
  options.level = args.quick        ? verify::Level::quick
                  : args.hash_media ? verify::Level::every_byte
                                    : verify::Level::standard;
  session.reporter().phase("verify");
  verify::prove(trees.trees, options, session.reporter(), session.stop(), result);
  report::sort_findings(result.findings);
  result.seconds = std::chrono::duration<double>(session.clock().now() - started).count();
  result.verdict = !finished && result.findings.empty() ? "not complete: the restore is not finished"
                                                        : verify::verdict(result);
  if (args.quick) result.verdict += "; structure: not checked";
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
