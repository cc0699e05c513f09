// SPDX-License-Identifier: Apache-2.0
#include "staging.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/sys.hpp"
#include "decant/state/bundle.hpp"
#include "sealed.hpp"

namespace decant::state {
namespace {

constexpr std::string_view k_schema = "decant.staging/1";
constexpr std::string_view k_bundle_prefix = ".decant/staging-";
constexpr std::string_view k_temp_prefix = ".tmp-";
constexpr std::uint64_t k_marker_limit = 256;

const fs::RelPath& list_name() {
  static const fs::RelPath name = fs::RelPath::require("staging.json", "state file");
  return name;
}

const fs::RelPath& marker_name() {
  static const fs::RelPath name = fs::RelPath::require(".decant-marker", "state file");
  return name;
}

std::string marker_text(const hash::Digest& lock) {
  return fmt::format("{} {}\n", k_schema, lock.hex());
}

struct Line {
  std::string root;
  fs::RelPath name;  // below the root
  hash::Digest lock;
};

std::string_view prefix_for(std::string_view root) {
  return root == "bundle" ? k_bundle_prefix : k_staging_prefix;
}

// A name that decant would give: nothing in the record can lead anywhere else.
bool is_staging_name(std::string_view root, const fs::RelPath& name) {
  return name.str().starts_with(prefix_for(root)) && name.depth() == (root == "bundle" ? 2U : 1U);
}

std::vector<Line> read_lines(const fs::DirHandle& state_dir) {
  const auto text = read_if_small(state_dir, list_name());
  const auto json = text ? unseal(*text, k_schema) : std::nullopt;
  std::vector<Line> lines;
  if (!json || !json->contains("staging") || !json->at("staging").is_array()) return lines;
  for (const Json& item : json->at("staging")) {
    if (!item.is_object() || !item.contains("root")) continue;
    const auto root = text_from_json(item.at("root"));
    const auto name = fs::RelPath::parse(string_at(item, "name").value_or(""));
    const auto lock = sha256_at(item, "lock");
    if (root && name && lock && is_staging_name(*root, *name)) lines.push_back({*root, *name, *lock});
  }
  return lines;
}

void write_lines(const fs::DirHandle& state_dir, const std::vector<Line>& lines) {
  if (lines.empty()) {
    state_dir.remove_file(list_name());
    return;
  }
  Json list = Json::array();
  for (const Line& line : lines) {
    list.push_back({{"root", text_to_json(line.root)}, {"name", line.name.str()}, {"lock", line.lock.hex()}});
  }
  state_dir.write_file_atomically(list_name(), seal({{"schema", k_schema}, {"staging", list}}));
}

enum class Condition {
  absent,
  marked,   // ours, with our marker
  blank,    // ours, but holds nothing, not even a marker
  foreign,  // anything else
};

struct Found {
  Condition condition = Condition::absent;
  std::optional<fs::DirHandle> dir;
};

Found examine(const fs::DirHandle& root_dir, const fs::RelPath& name, const hash::Digest& lock) {
  const auto named = root_dir.stat(name);
  if (!named) return {};
  if (named->type != fs::FileType::dir || named->uid != ::geteuid() || (named->mode & 0777) != 0700) {
    return {Condition::foreign, std::nullopt};
  }
  auto dir = root_dir.open_dir_if_there(name);
  if (!dir) return {};
  const fs::EntryFacts facts = fs::facts_of(dir->fd());
  if (facts.ino != named->ino || facts.dev != named->dev) return {Condition::foreign, std::nullopt};
  if (read_if_small(*dir, marker_name(), k_marker_limit) == marker_text(lock)) {
    return {Condition::marked, std::move(dir)};
  }
  const std::vector<std::string> names = dir->list();
  const bool blank = std::all_of(names.begin(), names.end(),
                                 [](const std::string& each) { return each.starts_with(k_temp_prefix); });
  return {blank ? Condition::blank : Condition::foreign, std::move(dir)};
}

void remove_all_but_marker(const fs::DirHandle& dir) {
  for (const std::string& name : dir.list()) {
    if (name != marker_name().str()) dir.remove_tree(fs::RelPath::require(name, "staged name"));
  }
}

void give_marker(const fs::DirHandle& dir, const hash::Digest& lock) {
  remove_all_but_marker(dir);
  if ((fs::facts_of(dir.fd()).mode & 0777) != 0700 && fs::sys::fchmod(dir.fd(), 0700) != 0) {
    throw_errno(errno, "change the mode of", dir.path());
  }
  dir.write_file_atomically(marker_name(), marker_text(lock), 0600);
}

bool is_about(const Line& line, const std::string& root_name, const hash::Digest& lock) {
  return line.root == root_name && line.lock == lock;
}

void tell(std::string* relative_name, const fs::RelPath& name) {
  if (relative_name != nullptr) *relative_name = name.str();
}

fs::RelPath new_name(const std::string& root_name, const hash::Digest& lock) {
  return fs::RelPath::require(fmt::format("{}{}-{}", prefix_for(root_name), lock.short_hex(), random_hex(8)),
                              "staging directory");
}

}  // namespace

std::optional<fs::DirHandle> find_staging(const fs::DirHandle& state_dir, const std::string& root_name,
                                          const fs::DirHandle& root_dir, const hash::Digest& lock,
                                          std::string* relative_name) {
  for (const Line& line : read_lines(state_dir)) {
    if (!is_about(line, root_name, lock)) continue;
    Found found = examine(root_dir, line.name, lock);
    if (found.condition != Condition::marked) continue;
    tell(relative_name, line.name);
    return std::move(found.dir);
  }
  return std::nullopt;
}

fs::DirHandle open_staging(const fs::DirHandle& state_dir, const std::string& root_name,
                           const fs::DirHandle& root_dir, const hash::Digest& lock,
                           std::string* relative_name) {
  if (auto found = find_staging(state_dir, root_name, root_dir, lock, relative_name))
    return *std::move(found);

  std::vector<Line> lines = read_lines(state_dir);
  std::optional<fs::RelPath> name;  // recorded, and free or blank
  for (const Line& line : lines) {
    if (!is_about(line, root_name, lock)) continue;
    const Condition condition = examine(root_dir, line.name, lock).condition;
    if (condition == Condition::absent || condition == Condition::blank) name = line.name;
  }
  if (!name) {
    name = new_name(root_name, lock);
    lines.push_back({root_name, *name, lock});
    write_lines(state_dir, lines);
  }
  if (root_name == "bundle") root_dir.make_dirs(name->parent());
  if (!root_dir.make_dir(*name, 0700) && examine(root_dir, *name, lock).condition != Condition::blank) {
    throw Error{ErrorKind::conflict,
                escape_for_display(root_dir.path_of(*name)) + " was made by somebody else in this moment",
                "run the same command again"};
  }
  fs::DirHandle dir = root_dir.open_dir(*name);
  give_marker(dir, lock);
  const auto parent = root_dir.open_dir(name->parent());
  parent.sync();
  if (examine(root_dir, *name, lock).condition != Condition::marked) {
    throw Error{ErrorKind::disk,
                fmt::format("the file system of {} does not keep owner and mode of a directory",
                            escape_for_display(root_dir.path())),
                "choose a directory on another file system"};
  }
  tell(relative_name, *name);
  return dir;
}

// The marker goes last, the line after it: stopped anywhere, the next call goes on.
void remove_staging(const fs::DirHandle& state_dir, const std::string& root_name,
                    const fs::DirHandle& root_dir, const hash::Digest& lock) {
  std::vector<Line> lines = read_lines(state_dir);
  const auto ours = [&](const Line& line) { return is_about(line, root_name, lock); };
  if (std::none_of(lines.begin(), lines.end(), ours)) return;
  for (const Line& line : lines) {
    if (!ours(line)) continue;
    const Found found = examine(root_dir, line.name, lock);
    if (found.condition != Condition::marked && found.condition != Condition::blank) continue;
    remove_all_but_marker(*found.dir);
    found.dir->remove_file(marker_name());
    root_dir.remove_dir(line.name);
  }
  lines.erase(std::remove_if(lines.begin(), lines.end(), ours), lines.end());
  write_lines(state_dir, lines);
}

}  // namespace decant::state
