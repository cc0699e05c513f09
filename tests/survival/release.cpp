// SPDX-License-Identifier: Apache-2.0
#include "release.hpp"

#include <fmt/format.h>

#include "support/temp_dir.hpp"

namespace decant::test {

namespace {

constexpr std::int64_t k_mtime = 1'700'000'000;  // of TarBuilder

}  // namespace

std::string wanted_file(std::string_view content, unsigned mode) {
  return fmt::format("file {:04o} mtime {} size {} sha256 {}", mode, k_mtime, content.size(),
                     sha256_hex(content));
}

std::string wanted_loose_file(std::string_view content) {
  return fmt::format("file 0644 size {} sha256 {}", content.size(), sha256_hex(content));
}

Tree& Tree::dir(const std::string& path) {
  tar_.dir(path);
  entries_[path] = "dir 0755";
  return *this;
}

Tree& Tree::file(const std::string& path, std::string_view content, unsigned mode) {
  tar_.file(path, content, mode);
  entries_[path] = wanted_file(content, mode);
  return *this;
}

Tree& Tree::link(const std::string& path, const std::string& target) {
  tar_.symlink(path, target);
  entries_[path] = "link -> " + target;
  return *this;
}

Tree& Tree::hard_link(const std::string& path, const std::string& target) {
  tar_.hardlink(path, target);
  entries_[path] = entries_.at(target);
  return *this;
}

void Tree::add_to(Wanted& wanted, const std::string& under) const {
  for (std::size_t slash = under.find('/');; slash = under.find('/', slash + 1)) {
    if (!under.empty()) wanted[under.substr(0, slash)] = "dir 0755";
    if (slash == std::string::npos) break;
  }
  for (const auto& [path, what] : entries_) wanted[under.empty() ? path : under + "/" + path] = what;
}

std::string part_path(const Part& part) {
  return "releases/r1/" + part.name + ".part";
}

std::vector<HubFile> repo_files(const std::vector<Part>& parts) {
  std::vector<HubFile> files;
  std::string list;
  for (const auto& part : parts) {
    files.push_back({part_path(part), part.content, Store::lfs});
    list += fmt::format("{}{{\"name\": \"{}\", \"path\": \"{}\", \"size\": {}, \"sha256\": \"{}\", {}}}",
                        list.empty() ? "" : ",\n", part.name, part_path(part),
                        part.size.value_or(part.content.size()), part.sha256.value_or(part.content.sha256()),
                        part.where);
  }
  files.push_back(
      {"releases/r1/release_manifest.json",
       "{\"schema\": \"decant.release/1\", \"release\": {\"id\": \"r1\"}, \"parts\": [\n" + list + "]}\n",
       Store::regular});
  return files;
}

SmallRelease::SmallRelease() {
  Tree data;
  data.dir("src").dir("src/pkg").dir("src/pkg/deep").dir("cache").dir("empty");
  for (int i = 0; i < 10; ++i)
    data.file(fmt::format("src/pkg/f{}.py", i), fmt::format("print({})\n", i), i % 3 == 0 ? 0755 : 0644);
  for (int i = 0; i < 5; ++i)
    data.file(fmt::format("cache/data-{}.arrow", i),
              random_bytes(static_cast<std::uint64_t>(i) + 1, 3000 * static_cast<std::size_t>(i + 1)));
  data.file("src/pkg/deep/x", "x").file("src/pkg/__init__.py", "").file("top.json", "{}");
  data.link("src/code", "pkg/deep").link("latest", "cache/data-4.arrow");
  data.hard_link("src/pkg/same", "src/pkg/f1.py").hard_link("cache/same", "cache/data-0.arrow");
  data.add_to(bundle, "");

  Tree runtime_tree;
  runtime_tree.dir("env").dir("env/bin").dir("env/lib").dir("env/lib/site");
  for (int i = 0; i < 14; ++i)
    runtime_tree.file(fmt::format("env/lib/site/m{}.so", i),
                      random_bytes(static_cast<std::uint64_t>(i) + 100, 700));
  runtime_tree.file("env/bin/run", "#!/bin/sh\n", 0755).file("env/pyvenv.cfg", "home = /usr/bin\n");
  runtime_tree.link("env/bin/python", "/usr/bin/python3").link("env/lib64", "lib");
  runtime_tree.add_to(runtime, "stack");

  const std::string notes = "Continue at step 453.\n";
  bundle["NOTES.md"] = wanted_loose_file(notes);

  parts.push_back({.name = "data",
                   .content = zstd_frames(data.tar(), 16 * 1024),
                   .where = R"("unpack": {"root": "bundle", "under": ""})",
                   .size = {},
                   .sha256 = {}});
  parts.push_back({.name = "runtime",
                   .content = zstd_frame(runtime_tree.tar()),
                   .where = R"("unpack": {"root": "runtime", "under": "stack"}, "links": "allow-external")",
                   .size = {},
                   .sha256 = {}});
  parts.push_back({.name = "notes",
                   .content = notes,
                   .where = R"("place": {"root": "bundle", "as": "NOTES.md"})",
                   .size = {},
                   .sha256 = {}});
}

LooseRelease::LooseRelease() {
  const auto add = [&](const std::string& path, const std::string& content, Store store) {
    files.push_back({path, content, store});
    bundle[path] = wanted_loose_file(content);
    for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
      bundle[path.substr(0, slash)] = "dir 0755";
  };
  add("config.json", "{}", Store::regular);
  add("README.md", "read", Store::regular);
  add("empty.txt", "", Store::regular);
  for (int i = 0; i < 6; ++i)
    add(fmt::format("iter_{}/shard-{}.distcp", i / 3, i),
        random_bytes(static_cast<std::uint64_t>(i) + 500, 5000), Store::lfs);
  add("iter_0/.metadata", "meta", Store::regular);
}

LargeRelease::LargeRelease(std::size_t mib) {
  for (int part = 0; part < 2; ++part) {
    Tree tree;
    tree.dir("images");
    for (std::size_t i = 0; i < mib * 2; ++i)
      tree.file(fmt::format("images/{}.jpg", i),
                random_bytes(static_cast<std::uint64_t>(part) * 100'000 + i, 262'000));
    const auto under = fmt::format("media/{}", part);
    tree.add_to(bundle, under);
    parts.push_back({.name = fmt::format("images_{}", part),
                     .content = zstd_frame(tree.tar(), {.level = 1}),
                     .where = fmt::format(R"("unpack": {{"root": "bundle", "under": "{}"}})", under),
                     .size = {},
                     .sha256 = {}});
    size += parts.back().content.size();
  }
}

}  // namespace decant::test
