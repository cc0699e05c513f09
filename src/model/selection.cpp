// SPDX-License-Identifier: Apache-2.0
#include "decant/model/selection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"

namespace decant::model {
namespace {

using Reach = Selection::Reach;

// "./a/" is how people write a path that is no name.
std::string tidy(std::string word) {
  if (!is_glob(word)) return word;
  while (word.starts_with("./")) word.erase(0, 2);
  while (word.size() > 1 && word.ends_with('/')) word.pop_back();
  return word;
}

// A directory that matches is chosen with everything below it.
bool matches_path(std::string_view pattern, std::string_view path) {
  if (glob_match(pattern, path)) return true;
  for (std::size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    if (glob_match(pattern, path.substr(0, at))) return true;
  }
  return false;
}

// What a pattern says about everything below `directory`, of which no names are known.
Reach reach_below(std::string_view pattern, std::string_view directory) {
  const auto words = split(pattern, '/');
  const auto names = directory.empty() ? std::vector<std::string>{} : split(directory, '/');
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "**") return i + 1 == words.size() ? Reach::all : Reach::some;
    if (i == names.size()) return Reach::some;
    if (!glob_match(words[i], names[i])) return Reach::none;
  }
  return Reach::all;  // the pattern names the directory or a parent of it
}

std::string in_root(const PartSpec& part, const fs::RelPath& path) {
  return path.is_root() ? part.root : part.root + "/" + path.str();
}

bool glob_chooses(const std::string& pattern, const PartSpec& part, const fs::RelPath& installed) {
  return matches_path(pattern, installed.str()) ||
         (part.root != "bundle" && matches_path(pattern, in_root(part, installed)));
}

Reach glob_reach(const std::string& pattern, const PartSpec& part) {
  const Reach below = reach_below(pattern, part.under.str());
  if (part.root == "bundle") return below;
  return std::max(below, reach_below(pattern, in_root(part, part.under)));
}

// What a word is the name of: a part before a tag before a tree, so that each can be chosen alone.
enum class Meaning { part, tag, tree };

Meaning meaning_of(const std::string& word, const std::set<std::string>& parts,
                   const std::set<std::string>& tags) {
  if (parts.contains(word)) return Meaning::part;
  return tags.contains(word) ? Meaning::tag : Meaning::tree;
}

bool tree_chooses(const TreeSpec& tree, const PartSpec& part, const fs::RelPath& installed) {
  return !tree.external && tree.root == part.root && installed.is_within(tree.under);
}

Reach tree_reach(const TreeSpec& tree, const PartSpec& part) {
  if (tree.external || tree.root != part.root) return Reach::none;
  if (part.under.is_within(tree.under)) return Reach::all;
  return tree.under.is_within(part.under) ? Reach::some : Reach::none;
}

std::vector<std::string> known_words(const ReleaseManifest& manifest) {
  std::set<std::string> words;
  for (const PartSpec& part : manifest.parts) {
    words.insert(part.name);
    words.insert(part.tags.begin(), part.tags.end());
  }
  for (const TreeSpec& tree : manifest.trees) words.insert(tree.name);
  return {words.begin(), words.end()};
}

void check_words(const std::vector<std::string>& words, std::string_view flag,
                 const ReleaseManifest& manifest) {
  constexpr std::size_t k_listed = 40;
  for (const std::string& word : words) {
    if (is_glob(word)) continue;
    const auto known = known_words(manifest);
    if (std::binary_search(known.begin(), known.end(), word)) continue;
    std::string listed;
    for (std::size_t i = 0; i < std::min(known.size(), k_listed); ++i)
      listed += (i > 0 ? ", " : "") + known[i];
    if (known.size() > k_listed) listed += fmt::format(" and {} more", known.size() - k_listed);
    const auto close = nearest(word, known, 1);
    const std::string shown = escape_for_display(word);
    throw Error{Problem{
        .kind = ErrorKind::usage,
        .thing = fmt::format("{} {}: no tag, part or tree has this name", flag, shown),
        .expected = "one of " + listed,
        .found = shown,
        .hint = fmt::format("{}a path is written with a / or a wildcard: {} './{}'",
                            close.empty() ? "" : fmt::format("perhaps {}; ", close.front()), flag, shown)}};
  }
}

}  // namespace

Selection::Selection(std::vector<std::string> only, std::vector<std::string> skip,
                     const ReleaseManifest& manifest)
    : only_{std::move(only)}, skip_{std::move(skip)}, trees_{manifest.trees} {
  check_words(only_, "--only", manifest);
  check_words(skip_, "--skip", manifest);
  for (const PartSpec& part : manifest.parts) {
    part_names_.insert(part.name);
    tags_.insert(part.tags.begin(), part.tags.end());
  }
  for (TreeSpec& tree : trees_) tree.files.clear();  // places are enough here
}

bool Selection::chooses(const std::string& word, const PartSpec& part, const fs::RelPath& installed) const {
  if (is_glob(word)) return glob_chooses(tidy(word), part, installed);
  switch (meaning_of(word, part_names_, tags_)) {
    case Meaning::part:
      return part.name == word;
    case Meaning::tag:
      return part.tags.contains(word);
    case Meaning::tree:
      break;
  }
  return std::any_of(trees_.begin(), trees_.end(), [&](const TreeSpec& tree) {
    return tree.name == word && tree_chooses(tree, part, installed);
  });
}

bool Selection::wants_entry(const PartSpec& part, const fs::RelPath& installed) const {
  const auto hit = [&](const std::string& word) { return chooses(word, part, installed); };
  return (only_.empty() || std::any_of(only_.begin(), only_.end(), hit)) &&
         std::none_of(skip_.begin(), skip_.end(), hit);
}

// Parts whose names are known are asked name by name; of an archive only its directory is known.
bool Selection::wants_part(const PartSpec& part) const {
  const auto wanted = [&](const LooseFile& file) { return wants_entry(part, file.path); };
  if (part.kind == PartKind::place) return wants_entry(part, part.as);
  if (part.kind == PartKind::files) return std::any_of(part.files.begin(), part.files.end(), wanted);
  return (only_.empty() || reach(only_, part) != Reach::none) && reach(skip_, part) != Reach::all;
}

bool Selection::wants_whole_part(const PartSpec& part) const {
  const auto wanted = [&](const LooseFile& file) { return wants_entry(part, file.path); };
  if (part.kind == PartKind::place) return wants_entry(part, part.as);
  if (part.kind == PartKind::files) return std::all_of(part.files.begin(), part.files.end(), wanted);
  return (only_.empty() || reach(only_, part) == Reach::all) && reach(skip_, part) == Reach::none;
}

Selection::Reach Selection::reach(const std::vector<std::string>& words, const PartSpec& part) const {
  Reach most = Reach::none;
  for (const std::string& word : words) {
    if (is_glob(word)) {
      most = std::max(most, glob_reach(tidy(word), part));
      continue;
    }
    const Meaning meaning = meaning_of(word, part_names_, tags_);
    if (meaning != Meaning::tree) {
      if (meaning == Meaning::part ? part.name == word : part.tags.contains(word)) return Reach::all;
      continue;
    }
    for (const TreeSpec& tree : trees_) {
      if (tree.name == word) most = std::max(most, tree_reach(tree, part));
    }
  }
  return most;
}

}  // namespace decant::model
