// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "decant/base/text.hpp"
#include "decant/verify/verify.hpp"
#include "expected.hpp"

namespace decant::verify {
namespace {

bool by_path(const Expected& a, const Expected& b) {
  return a.path < b.path;
}

[[noreturn]] void disagree(const fs::RelPath& path) {
  throw Error{ErrorKind::integrity,
              fmt::format("two parts of the release disagree on {}", escape_for_display(path.str())),
              "have the release's author correct its manifest"};
}

bool agree(const Expected& a, const Expected& b) {
  if (a.type != b.type) return false;
  if (a.type == ExpectedType::dir) return true;
  if (a.type == ExpectedType::symlink) return a.target == b.target;
  if (a.check_mode && b.check_mode && a.executable != b.executable) return false;
  if (!a.digest.valid() || !b.digest.valid()) return true;
  return a.size == b.size && (a.digest.algorithm() != b.digest.algorithm() || a.digest == b.digest);
}

// Of two that agree, what each knows better; wanted by both as strictly as the stricter one says.
void merge_into(Expected& kept, const Expected& other) {
  const bool takes_digest = !kept.digest.valid() || (kept.digest.algorithm() != hash::Algorithm::sha256 &&
                                                     other.digest.algorithm() == hash::Algorithm::sha256);
  if (takes_digest && other.digest.valid()) {
    kept.digest = other.digest;
    kept.size = other.size;
    kept.origin = other.origin;
    kept.part = other.part;
  }
  if (other.check_mode && !kept.check_mode) {
    kept.check_mode = true;
    kept.executable = other.executable;
  }
  kept.media = kept.media && other.media;
  kept.optional = kept.optional && other.optional;
}

void merge_duplicates(std::vector<Expected>& entries) {
  std::size_t kept = 0;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].path != entries[kept].path) {
      if (++kept != i) entries[kept] = std::move(entries[i]);
      continue;
    }
    if (!agree(entries[kept], entries[i])) disagree(entries[i].path);
    merge_into(entries[kept], entries[i]);
  }
  if (!entries.empty()) entries.resize(kept + 1);
}

// Directories that only appear as parents of other entries.
class ImpliedParents {
 public:
  explicit ImpliedParents(const std::vector<Expected>& stated) : stated_{stated} {}

  // Needed as soon as one entry below is; such a directory belongs to the first part that needs it.
  void add_for(const Expected& entry) {
    for (fs::RelPath path = entry.path.parent(); !path.is_root(); path = path.parent()) {
      if (const auto stated = find_entry(stated_, path.str())) {
        if (stated_[*stated].type != ExpectedType::dir) disagree(path);
        continue;  // its own parents may be missing all the same
      }
      const auto [at, is_new] = positions_.try_emplace(path.str(), implied_.size());
      if (!is_new) {
        Expected& known = implied_[at->second];
        if (known.optional <= entry.optional && known.media <= entry.media) return;
        known.optional = known.optional && entry.optional;
        known.media = known.media && entry.media;
        continue;
      }
      Expected implied;
      implied.path = path;
      implied.type = ExpectedType::dir;
      implied.optional = entry.optional;
      implied.media = entry.media;
      implied.origin = entry.origin;
      implied.part = entry.part;
      implied_.push_back(std::move(implied));
    }
  }

  std::vector<Expected> take() {
    std::sort(implied_.begin(), implied_.end(), by_path);
    return std::move(implied_);
  }

 private:
  const std::vector<Expected>& stated_;
  std::vector<Expected> implied_;
  std::unordered_map<std::string, std::size_t> positions_;
};

}  // namespace

std::optional<std::size_t> find_entry(const std::vector<Expected>& entries, std::string_view path) {
  const auto at =
      std::lower_bound(entries.begin(), entries.end(), path,
                       [](const Expected& entry, std::string_view text) { return entry.path.str() < text; });
  if (at == entries.end() || at->path.str() != path) return std::nullopt;
  return static_cast<std::size_t>(at - entries.begin());
}

bool is_complete(const std::vector<Expected>& entries) {
  const bool sorted =
      std::adjacent_find(entries.begin(), entries.end(), [](const Expected& a, const Expected& b) {
        return !(a.path < b.path);
      }) == entries.end();
  if (!sorted) return false;
  std::string_view last;  // runs of one directory are the rule
  for (const Expected& entry : entries) {
    const std::string_view text = entry.path.str();
    const std::size_t slash = text.rfind('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view parent = text.substr(0, slash);
    if (parent == last) continue;
    const auto at = find_entry(entries, parent);
    if (!at || entries[*at].type != ExpectedType::dir) return false;
    last = parent;
  }
  return true;
}

std::vector<Expected> with_parents(std::vector<Expected> entries) {
  std::erase_if(entries, [](const Expected& entry) { return entry.path.is_root(); });
  std::stable_sort(entries.begin(), entries.end(), by_path);
  merge_duplicates(entries);
  if (is_complete(entries)) return entries;

  ImpliedParents implied{entries};
  for (const Expected& entry : entries) implied.add_for(entry);
  std::vector<Expected> parents = implied.take();
  const auto middle = static_cast<std::ptrdiff_t>(entries.size());
  entries.insert(entries.end(), std::make_move_iterator(parents.begin()),
                 std::make_move_iterator(parents.end()));
  std::inplace_merge(entries.begin(), entries.begin() + middle, entries.end(), by_path);
  return entries;
}

}  // namespace decant::verify
