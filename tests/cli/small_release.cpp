// SPDX-License-Identifier: Apache-2.0
#include "small_release.hpp"

#include <filesystem>
#include <stdexcept>

#include "support/temp_dir.hpp"

namespace decant::test {
namespace {

using Tree = std::map<std::string, std::string>;

const std::string k_notes = "Continue at step 453.\n";
const std::string k_launch = "#!/bin/sh\nexec torchrun \"$@\"\n";
const std::string k_config = "{\"hidden_size\": 8}\n";

std::string rows() {
  return random_bytes(1, 180'000);
}
std::string image(unsigned part, unsigned number) {
  return random_bytes(1000 * (part + 1) + number, 30'000 + 1'000 * number);
}
std::string image_name(unsigned part, unsigned number) {
  return "sft/images/" + std::to_string(part) + "_" + std::to_string(number) + ".jpg";
}

std::string images(unsigned part) {
  TarBuilder tar;
  tar.dir("sft/").dir("sft/images/");
  for (unsigned i = 0; i < 3; ++i) tar.file(image_name(part, i), image(part, i));
  return zstd_frame(tar.closed());
}

nlohmann::ordered_json part_json(std::string_view name, const std::string& path, const std::string& bytes) {
  return {{"name", name}, {"path", path}, {"size", bytes.size()}, {"sha256", sha256_hex(bytes)}};
}

}  // namespace

TarBuilder data_tar() {
  TarBuilder tar;
  tar.file("input_snapshot/rows.parquet", rows())
      .dir("swift_src/")
      .dir("swift_src/swift/")
      .file("swift_src/swift/__init__.py", "")
      .file("swift_src/swift/sft.py", "print('train')\n")
      .file("portable/launch.sh", k_launch, 0755)
      .symlink("portable/code", "../swift_src/swift")
      .hardlink("portable/rows.parquet", "input_snapshot/rows.parquet");
  return tar;
}

TarBuilder runtime_tar() {
  TarBuilder tar;
  tar.dir("qwen_env/")
      .symlink("qwen_env/bin/python", "/usr/bin/python3")
      .file("qwen_env/pyvenv.cfg", "home = /usr/bin\n")
      .file("qwen_env/lib/torch.so", random_bytes(3, 70'000), 0755);
  return tar;
}

SmallRelease::SmallRelease() {
  const std::string folder{k_folder};
  const auto add = [&](std::string_view name, const std::string& file, const std::string& bytes) {
    const auto path = folder + "/" + file;
    files[path] = bytes;
    return part_json(name, path, bytes);
  };
  auto parts = nlohmann::ordered_json::array();
  auto data = add("data", "data.tar.zst", zstd_frames(data_tar().closed(), 64 * 1024));
  data["unpack"] = {{"root", "bundle"}, {"under", ""}};
  parts.push_back(data);
  for (unsigned i = 0; i < 2; ++i) {
    const auto name = "images_00" + std::to_string(i);
    auto media = add(name, "media/" + name + ".tar.zst", images(i));
    media["unpack"] = {{"root", "bundle"}, {"under", "media"}};
    media["tags"] = {"media"};
    parts.push_back(media);
  }
  auto runtime = add("runtime", "environment/runtime.tar.zst", zstd_frame(runtime_tar().closed()));
  runtime["unpack"] = {{"root", "runtime"}, {"under", ""}};
  runtime["links"] = "allow-external";
  parts.push_back(runtime);
  auto notes = add("notes", "NOTES.md", k_notes);
  notes["place"] = {{"root", "bundle"}, {"as", "NOTES.md"}};
  parts.push_back(notes);

  manifest["schema"] = "decant.release/1";
  manifest["release"] = {{"id", "r1"}};
  manifest["roots"] = {{{"name", "runtime"}, {"suggest", "/opt/suggested"}}};
  manifest["trees"] = {{{"name", "runtime"}, {"root", "runtime"}, {"under", "qwen_env"}},
                       {{"name", "swift-source"}, {"root", "bundle"}, {"under", "swift_src"}},
                       {{"name", "base-model"},
                        {"external", true},
                        {"files", {{{"path", "config.json"}, {"sha256", sha256_hex(k_config)}}}}}};
  manifest["parts"] = parts;
}

nlohmann::ordered_json& SmallRelease::part(std::string_view name) {
  for (auto& part : manifest["parts"])
    if (part["name"] == name) return part;
  throw std::runtime_error{"no part " + std::string{name}};
}

std::string SmallRelease::bytes_of(std::string_view part_name) {
  return files.at(part(part_name)["path"].get<std::string>());
}

void SmallRelease::set_bytes(std::string_view part_name, const std::string& bytes) {
  auto& json = part(part_name);
  files[json["path"].get<std::string>()] = bytes;
  json["size"] = bytes.size();
  json["sha256"] = sha256_hex(bytes);
}

std::vector<HubFile> SmallRelease::commit_files(std::string_view folder) const {
  std::vector<HubFile> out;
  for (const auto& [path, bytes] : files)
    out.push_back({path, bytes, path.ends_with(".zst") ? Store::lfs : Store::regular});
  const std::string prefix = folder.empty() ? "" : std::string{folder} + "/";
  out.push_back({prefix + "release_manifest.json", manifest.dump(1) + "\n"});
  return out;
}

std::vector<HubFile> SmallRelease::commit_files_with(const std::string& manifest_text) const {
  auto out = commit_files();
  out.back().content = manifest_text;
  return out;
}

void SmallRelease::write_to(const std::string& directory) const {
  for (const auto& file : commit_files()) write_file(directory + "/" + file.path, file.content.text());
}

Tree SmallRelease::bundle_tree() {
  Tree tree{{"NOTES.md", k_notes},
            {"input_snapshot", "DIR"},
            {"input_snapshot/rows.parquet", rows()},
            {"portable", "DIR"},
            {"portable/code", "-> ../swift_src/swift"},
            {"portable/launch.sh", k_launch + "*"},
            {"portable/rows.parquet", rows()},
            {"swift_src", "DIR"},
            {"swift_src/swift", "DIR"},
            {"swift_src/swift/__init__.py", ""},
            {"swift_src/swift/sft.py", "print('train')\n"},
            {"media", "DIR"},
            {"media/sft", "DIR"},
            {"media/sft/images", "DIR"}};
  for (unsigned part = 0; part < 2; ++part)
    for (unsigned i = 0; i < 3; ++i) tree["media/" + image_name(part, i)] = image(part, i);
  return tree;
}

Tree SmallRelease::runtime_tree() {
  return {{"qwen_env", "DIR"},
          {"qwen_env/bin", "DIR"},
          {"qwen_env/bin/python", "-> /usr/bin/python3"},
          {"qwen_env/lib", "DIR"},
          {"qwen_env/lib/torch.so", random_bytes(3, 70'000) + "*"},
          {"qwen_env/pyvenv.cfg", "home = /usr/bin\n"}};
}

void SmallRelease::write_base_model(const std::string& directory) {
  write_file(directory + "/config.json", k_config);
}

}  // namespace decant::test
