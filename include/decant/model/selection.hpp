// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "decant/fs/rel_path.hpp"
#include "decant/model/manifest.hpp"

namespace decant::model {

// --only and --skip: a word without `*?[/` is the name of a part, else of a tag, else of a tree, anything
// else a glob over installed paths (for paths below the bundle: relative to it; below another root NAME:
// "NAME/path" matches too). A directory that a glob matches is chosen with everything below it; a leading
// "./" and a trailing "/" are dropped.
class Selection {
 public:
  // How much of an archive words choose, judged without its index.
  enum class Reach { none, some, all };

  Selection() = default;  // everything
  // Throws Error{usage} when a word names no tag, part or tree of the manifest; the known words are listed.
  Selection(std::vector<std::string> only, std::vector<std::string> skip, const ReleaseManifest& manifest);

  bool is_everything() const { return only_.empty() && skip_.empty(); }
  // False when no entry of the part can be wanted. A glob may want any entry of an unpack part: then true.
  bool wants_part(const PartSpec& part) const;
  // True when the part is wanted whole, without looking at entries.
  bool wants_whole_part(const PartSpec& part) const;
  // `installed` is below the part's root (under/path or as).
  bool wants_entry(const PartSpec& part, const fs::RelPath& installed) const;
  const std::vector<std::string>& only() const { return only_; }
  const std::vector<std::string>& skip() const { return skip_; }

 private:
  bool chooses(const std::string& word, const PartSpec& part, const fs::RelPath& installed) const;
  Reach reach(const std::vector<std::string>& words, const PartSpec& part) const;
  std::vector<std::string> only_;
  std::vector<std::string> skip_;
  std::vector<TreeSpec> trees_;
  std::set<std::string> part_names_;
  std::set<std::string> tags_;
};

}  // namespace decant::model
