// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "decant/base/text.hpp"
#include "look.hpp"

namespace decant::verify {
namespace {

// Notes beyond this many per tree are counted only.
constexpr std::uint64_t k_notes_kept = 10'000;

bool is_generated_name(std::string_view name) {
  return name == "__pycache__" || name.ends_with(".pyc") || name.starts_with(".nfs");
}

// Directly below a tree's top: the state of decant itself.
bool is_ours(const fs::RelPath& directory, std::string_view name) {
  return directory.is_root() && (name.starts_with(".decant") || name == "restore_lock.json");
}

// Loaders pick these up by pattern, so that one too many changes the model.
bool is_loaded_by_pattern(std::string_view name) {
  constexpr std::array<std::string_view, 4> k_ends{".safetensors", ".bin", ".safetensors.index.json",
                                                   ".bin.index.json"};
  return name == "adapter_config.json" ||
         std::any_of(k_ends.begin(), k_ends.end(), [&](std::string_view end) { return name.ends_with(end); });
}

bool holds_only_hub_cache(const fs::DirHandle& dir) {
  const auto cache = dir.open_dir_if_there(fs::RelPath::require(".cache", "name"));
  return cache && cache->list() == std::vector<std::string>{"huggingface"};
}

bool leads_to_foreign(const Sheet& sheet, std::string_view path) {
  return std::any_of(sheet.foreign.begin(), sheet.foreign.end(), [&](const fs::RelPath& top) {
    const std::string& text = top.str();
    return text == path || (text.starts_with(path) && text.size() > path.size() && text[path.size()] == '/');
  });
}

struct Stranger {
  std::string path;
  std::string name;
  bool closed = false;
};

void add_finding(Sheet& sheet, const Stranger& stranger, std::string found, std::string note,
                 Ledger& ledger) {
  report::Finding finding{
      .kind = report::FindingKind::extra, .tree = sheet.tree().name, .path = stranger.path};
  finding.expected = "nothing";
  finding.found = std::move(found);
  finding.note = std::move(note);
  ++sheet.extra;
  ledger.add(std::move(finding));
}

void judge(Sheet& sheet, const fs::DirHandle& dir, const fs::RelPath& directory, const Stranger& stranger,
           Ledger& ledger) {
  const bool below_cache = directory.name() == ".cache" && stranger.name == "huggingface";
  if (is_generated_name(stranger.name) || below_cache ||
      (stranger.name == ".cache" && holds_only_hub_cache(dir))) {
    const std::string path = stranger.name == ".cache" ? stranger.path + "/huggingface" : stranger.path;
    if (++sheet.generated <= k_notes_kept) ledger.add(report::Note{"generated", sheet.tree().name, path});
    return;
  }
  struct stat st {};
  const bool is_dir =
      ::fstatat(dir.fd(), stranger.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
  const std::string found = is_dir ? "a directory" : "a file";
  if (stranger.closed)
    return add_finding(sheet, stranger, found, "the release closes this directory", ledger);
  if (sheet.tree().external && !is_dir && is_loaded_by_pattern(stranger.name)) {
    return add_finding(sheet, stranger, found, "model loaders pick up files of such names", ledger);
  }
  if (++sheet.extra <= k_notes_kept) {
    ledger.add(report::Note{"extra", sheet.tree().name, is_dir ? stranger.path + '/' : stranger.path});
  }
}

}  // namespace

void look_for_extras(Sheet& sheet, const fs::RelPath& directory, Ledger& ledger) {
  if (sheet.top() == nullptr) return;
  try {
    const auto dir = directory.is_root() ? std::optional{sheet.top()->duplicate()}
                                         : sheet.top()->open_dir_if_there(directory);
    if (!dir) return;
    const auto holds_it = [&](const fs::RelPath& top) { return directory.is_within(top); };
    const auto& unlisted = sheet.tree().unlisted;
    const bool closed = std::any_of(sheet.closed.begin(), sheet.closed.end(), holds_it) &&
                        std::none_of(unlisted.begin(), unlisted.end(), holds_it);
    const std::string prefix = directory.is_root() ? std::string{} : directory.str() + '/';
    for (const std::string& name : dir->list()) {
      const std::string path = prefix + name;
      if (find_entry(sheet.entries(), path) || is_ours(directory, name) || leads_to_foreign(sheet, path) ||
          sheet.is_left_out(path))
        continue;
      judge(sheet, *dir, directory, {.path = path, .name = name, .closed = closed}, ledger);
    }
  } catch (const Error& failure) {
    report::Finding finding{.kind = report::FindingKind::unreadable, .tree = sheet.tree().name};
    finding.path = directory.str();
    finding.found = failure.problem().thing;
    ledger.add(std::move(finding));
  }
}

}  // namespace decant::verify
