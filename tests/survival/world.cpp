// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace decant::test {

namespace {

bool is_own(const std::string& path) {
  return path == "restore_lock.json" || path == ".decant" || path.starts_with(".decant/") ||
         path.starts_with(".decant-");
}

void put(const std::string& path, std::string_view content) {
  write_file(path, content);
  const timespec times[2] = {{1'600'000'000, 0}, {1'600'000'000, 0}};
  ::utimensat(AT_FDCWD, path.c_str(), times, 0);
}

// Loose and placed files carry no time of their own.
void drop_time_of_now(std::string& what) {
  constexpr std::int64_t k_any_release = 1'750'000'000;
  const auto at = what.find(" mtime ");
  if (std::stoll(what.substr(at + 7)) > k_any_release) what.erase(at, what.find(" size ") - at);
}

}  // namespace

void work_in_memory() {
  constexpr const char* k_memory = "/dev/shm";
  if (::access(k_memory, W_OK | X_OK) == 0) ::setenv("TMPDIR", k_memory, 0);
}

Wanted visible(const std::string& root) {
  Wanted tree;
  if (!exists(root)) return tree;
  for (auto [path, what] : snapshot(root)) {
    if (is_own(path)) continue;
    if (what.starts_with("dir")) what.resize(what.find(" mtime"));
    if (what.starts_with("link")) what = "link" + what.substr(what.find(" ->"));
    if (what.starts_with("file")) drop_time_of_now(what);
    tree.emplace(path, what);
  }
  return tree;
}

std::set<std::string> own_names(const std::string& root) {
  std::set<std::string> names;
  if (!exists(root)) return names;
  for (const auto& [path, what] : snapshot(root)) {
    if (!is_own(path)) continue;
    auto name = path;
    if (name.ends_with(".b.marks")) name.replace(name.size() - 8, 8, ".a.marks");
    const bool is_empty = what.find(" size 0 ") != std::string::npos;
    names.insert(name + " " + what.substr(0, what.find(' ')) + (is_empty ? ", empty" : ""));
  }
  return names;
}

World::World(bool with_user_files) {
  write_file(path("beside"), "nobody touches this");
  if (!with_user_files) return;
  put(bundle() + "/src/pkg/mine.py", "mine");
  put(bundle() + "/cache/mine", "mine, too");
  put(bundle() + "/src/pkg/f2.py", "print(2)\n");
  put(runtime() + "/stack/env/mine", "and mine");
  put(runtime() + "/other", "somebody's");
  mine_ = tree();
}

std::vector<std::string> World::restore(const std::string& endpoint,
                                        const std::vector<std::string>& more) const {
  std::vector<std::string> line{"restore", "org/small", "--release", "releases/r1", "--endpoint",
                                endpoint,  "--bundle",  bundle(),    "--progress",  "none"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

std::vector<std::string> World::restore_small(const std::string& endpoint,
                                              const std::vector<std::string>& more) const {
  auto line = restore(endpoint, more);
  line.insert(line.end(), {"--runtime-root", runtime()});
  return line;
}

std::vector<std::string> World::restore_loose(const std::string& endpoint) const {
  return {"restore", "org/loose", "--endpoint", endpoint, "--bundle", bundle(), "--progress", "none"};
}

std::vector<std::string> World::verify(bool with_runtime) const {
  std::vector<std::string> line{"verify", "--bundle", bundle(), "--hash-media", "--progress", "none"};
  if (with_runtime) line.insert(line.end(), {"--root", "runtime=" + runtime()});
  return line;
}

Wanted World::tree() const {
  Wanted all;
  for (const std::string name : {"bundle", "runtime"})
    for (const auto& [below, what] : visible(path(name))) all.emplace(name + "/" + below, what);
  return all;
}

Wanted World::wanted(const Wanted& bundle, const Wanted& runtime) const {
  Wanted all = mine_;
  for (const auto& [below, what] : bundle) all.emplace("bundle/" + below, what);
  for (const auto& [below, what] : runtime) all.emplace("runtime/" + below, what);
  return all;
}

std::string World::half_file(const Wanted& wanted) const {
  for (const auto& [name, what] : tree()) {
    const auto it = wanted.find(name);
    if (it == wanted.end()) return name + " is not of the release";
    // A new directory under its final name may still be open to its owner alone: where the file system
    // cannot rename without replacing, an empty one stands there for a moment.
    if (it->second != what) return name + ": " + what + " instead of " + it->second;
  }
  for (const auto& [name, what] : mine_)
    if (!exists(path(name))) return name + " is gone";
  return {};
}

std::string World::stray() const {
  for (const auto& entry : std::filesystem::directory_iterator{root()}) {
    const auto name = entry.path().filename().string();
    if (name != "bundle" && name != "runtime" && name != "cache" && name != "beside") return name;
  }
  if (read_file(path("beside")) != "nobody touches this") return "beside was changed";
  return {};
}

std::set<std::string> World::state() const {
  auto names = own_names(bundle());
  for (const auto& name : own_names(runtime())) names.insert("runtime: " + name);
  return names;
}

}  // namespace decant::test
