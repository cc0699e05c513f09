// SPDX-License-Identifier: Apache-2.0
#include "decant/verify/release_trees.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decant/base/text.hpp"
#include "decant/fs/dir_handle.hpp"

namespace decant::verify {

namespace {

class Builder {
 public:
  explicit Builder(const ReleaseView& view) : view_{view}, manifest_{*view.manifest} {}

  ReleaseTrees build() {
    refuse_unknown_trees();
    for (const auto& part : manifest_.parts) add_part(part);
    for (auto& [name, tree] : roots_) add_root(name, tree);
    for (const auto& spec : manifest_.trees) add_tree(spec);
    return std::move(out_);
  }

 private:
  void refuse_unknown_trees() const {
    std::vector<std::string> known;
    for (const auto& tree : manifest_.trees) known.push_back(tree.name);
    for (const auto& [name, path] : view_.tree_paths)
      if (std::ranges::find(known, name) == known.end())
        throw Error{ErrorKind::usage,
                    fmt::format("the release declares no tree '{}'", escape_for_display(name)),
                    known.empty() ? std::string{"it declares none"}
                                  : fmt::format("its trees are: {}", fmt::join(known, ", "))};
  }

  Tree& root_of(const model::PartSpec& part) {
    auto& tree = roots_[part.root];
    tree.name = part.root;
    return tree;
  }

  void add_part(const model::PartSpec& part) {
    auto& tree = root_of(part);
    const auto number = static_cast<std::uint32_t>(tree.parts.size());
    tree.parts.push_back(part.name);
    if (!view_.selection->wants_part(part)) {
      ++tree.skipped;
      leave_out(tree, part);
      return;
    }
    if (part.kind != model::PartKind::unpack) {
      if (view_.is_published && !view_.is_published(part)) {
        out_.parts_without_index.push_back(part.name);
        return;
      }
      add_files(tree, part, number);
      return;
    }
    const auto known = view_.index_of(part);
    if (!known) {
      out_.parts_without_index.push_back(part.name);
      out_.findings.push_back(
          {.kind = report::FindingKind::unverifiable,
           .tree = part.root,
           .path = part.under.str(),
           .part = part.name,
           .expected = "an index of the part",
           .found = "none",
           .note = "nothing here says what this part holds; run decant restore to learn it"});
      return;
    }
    for (const auto& entry : known->index.entries) {
      Expected expected;
      expected.path = part.under / entry.path;
      if (!view_.selection->wants_entry(part, expected.path)) {
        ++tree.skipped;
        tree.left_out.push_back(std::move(expected.path));
        continue;
      }
      expected.type = entry.type == model::EntryType::file  ? ExpectedType::file
                      : entry.type == model::EntryType::dir ? ExpectedType::dir
                                                            : ExpectedType::symlink;
      expected.executable = entry.executable;
      expected.media = part.is_media();
      expected.origin = known->origin;
      expected.part = number;
      expected.size = entry.size;
      expected.digest = entry.sha256;
      expected.target = entry.target;
      tree.entries.push_back(std::move(expected));
    }
  }

  void add_files(Tree& tree, const model::PartSpec& part, std::uint32_t number) {
    const auto add = [&](const fs::RelPath& path, std::uint64_t size, const hash::Digest& digest) {
      Expected expected;
      expected.path = path;
      expected.check_mode = false;
      expected.media = part.is_media();
      expected.part = number;
      expected.size = size;
      expected.digest = digest;
      tree.entries.push_back(std::move(expected));
    };
    if (part.kind == model::PartKind::place) {
      if (part.file.size)
        add(part.as, *part.file.size, part.file.digest.value_or(hash::Digest{}));
      else
        out_.findings.push_back({.kind = report::FindingKind::unverifiable,
                                 .tree = part.root,
                                 .path = part.as.str(),
                                 .part = part.name,
                                 .expected = "a size and a digest",
                                 .found = "none",
                                 .note = "neither manifest nor lock states them"});
      return;
    }
    for (const auto& file : part.files) {
      if (view_.selection->wants_entry(part, file.path)) {
        add(file.path, file.size, file.digest);
      } else {
        ++tree.skipped;
        tree.left_out.push_back(file.path);
      }
    }
  }

  void leave_out(Tree& tree, const model::PartSpec& part) const {
    if (part.kind == model::PartKind::place) tree.left_out.push_back(part.as);
    for (const auto& file : part.files) tree.left_out.push_back(file.path);
    if (part.kind != model::PartKind::unpack) return;
    const auto known = view_.index_of(part);
    if (!known) return tree.unlisted.push_back(part.under);
    for (const auto& entry : known->index.entries) tree.left_out.push_back(part.under / entry.path);
  }

  // Of the root's paths, those below `under`, as seen from there.
  static std::vector<fs::RelPath> below(const std::vector<fs::RelPath>& paths, const fs::RelPath& under) {
    std::vector<fs::RelPath> out;
    for (const auto& path : paths) {
      if (path == under || !path.is_within(under)) continue;
      auto inner = path;
      for (std::size_t i = 0; i < under.depth(); ++i) inner = inner.rest();
      out.push_back(std::move(inner));
    }
    return out;
  }

  void add_root(const std::string& name, Tree& tree) {
    if (tree.entries.empty()) return;
    const auto place = view_.root_paths.find(name);
    if (place == view_.root_paths.end()) {
      out_.findings.push_back({.kind = report::FindingKind::tree_missing,
                               .tree = name,
                               .path = {},
                               .part = {},
                               .expected = fmt::format("root '{}' with {}", name,
                                                       counted(tree.entries.size(), "entry", "entries")),
                               .found = "nobody says where it lies",
                               .note = fmt::format("name it with --root {}=DIR", name)});
      return;
    }
    tree.path = place->second;
    for (const auto& closed : manifest_.closed)
      if (closed.root == name) tree.closed.push_back(closed.under);
    tree.entries = with_parents(std::move(tree.entries));
    out_.trees.push_back(tree);
  }

  void add_tree(const model::TreeSpec& spec) {
    const auto& skip = view_.selection->skip();
    if (std::ranges::find(skip, spec.name) != skip.end()) return;
    const auto given = view_.tree_paths.find(spec.name);
    Tree tree;
    tree.name = spec.name;
    tree.external = spec.external;
    tree.is_root = spec.external;
    if (spec.external) {
      if (given == view_.tree_paths.end()) {
        out_.findings.push_back(
            {.kind = report::FindingKind::tree_missing,
             .tree = spec.name,
             .path = {},
             .part = {},
             .expected = "a directory that holds it",
             .found = "none given",
             .note = fmt::format("name it with --tree {}=DIR, or leave it out with --skip {}", spec.name,
                                 spec.name)});
        return;
      }
      tree.path = given->second;
      tree.parts.emplace_back();
      for (const auto& file : spec.files) {
        Expected expected;
        expected.path = file.path;
        expected.check_mode = false;
        expected.optional = file.optional;
        expected.states_size = file.size.has_value();
        expected.size = file.size.value_or(0);
        expected.digest = file.digest;
        tree.entries.push_back(std::move(expected));
      }
      if (spec.files.empty())
        out_.findings.push_back({.kind = report::FindingKind::unverifiable,
                                 .tree = spec.name,
                                 .path = {},
                                 .part = {},
                                 .expected = "a list of files",
                                 .found = "none in the manifest",
                                 .note = {}});
    } else {
      const auto root =
          std::ranges::find_if(out_.trees, [&](const Tree& t) { return t.is_root && t.name == spec.root; });
      if (root == out_.trees.end()) return;  // the root's own finding says it
      tree.parts = root->parts;
      for (const auto& entry : root->entries) {
        if (entry.path == spec.under || !entry.path.is_within(spec.under)) continue;
        auto inner = entry;
        for (std::size_t i = 0; i < spec.under.depth(); ++i) inner.path = inner.path.rest();
        tree.entries.push_back(std::move(inner));
      }
      tree.left_out = below(root->left_out, spec.under);
      tree.unlisted = below(root->unlisted, spec.under);
      if (std::ranges::any_of(root->unlisted, [&](const auto& top) { return spec.under.is_within(top); }))
        tree.unlisted.emplace_back();
      // The selection wants nothing of it, or it is not restored yet.
      const bool is_partial = !view_.selection->is_everything() || !out_.parts_without_index.empty();
      if (tree.entries.empty() && is_partial) return;
      tree.path = given != view_.tree_paths.end() ? given->second
                  : spec.under.is_root()          ? root->path
                                                  : root->path + "/" + spec.under.str();
    }
    if (!fs::DirHandle::open_if_there(tree.path)) {
      out_.findings.push_back({.kind = report::FindingKind::tree_missing,
                               .tree = spec.name,
                               .path = {},
                               .part = {},
                               .expected = "a directory",
                               .found = escape_for_display(tree.path) + " is not there",
                               .note = {}});
      return;
    }
    tree.entries = with_parents(std::move(tree.entries));
    out_.trees.push_back(std::move(tree));
  }

  const ReleaseView& view_;
  const model::ReleaseManifest& manifest_;
  std::map<std::string, Tree> roots_;
  ReleaseTrees out_;
};

}  // namespace

ReleaseTrees trees_of(const ReleaseView& view) {
  return Builder{view}.build();
}

}  // namespace decant::verify
