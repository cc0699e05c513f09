// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/archive_builder.hpp"
#include "support/test_hub.hpp"

namespace decant::test {

// A release of a few hundred KB as it lies in a repo: part `data` (files, an executable, a link), media parts
// `images_000` and `images_001`, part `runtime` with an absolute link, the placed file `notes`; trees
// `runtime`, `swift-source` and the external `base-model`. Everything may be changed before it is committed.
class SmallRelease {
 public:
  SmallRelease();

  static constexpr std::string_view k_folder = "releases/r1";

  std::map<std::string, std::string> files;  // path in the repo -> bytes, without the manifest
  nlohmann::ordered_json manifest;

  nlohmann::ordered_json& part(std::string_view name);
  std::string bytes_of(std::string_view part_name);
  // Other bytes for a part; its size and digest in the manifest follow.
  void set_bytes(std::string_view part_name, const std::string& bytes);
  // The files of a commit, with the manifest at `folder` (a repo's root for ""); `text` replaces its JSON.
  std::vector<HubFile> commit_files(std::string_view folder = k_folder) const;
  std::vector<HubFile> commit_files_with(const std::string& manifest_text) const;
  // The same tree as files below `directory`.
  void write_to(const std::string& directory) const;

  // What a restore leaves below bundle and runtime root: path -> content, "-> TARGET" for links, "DIR" for
  // directories; executables end in "*".
  static std::map<std::string, std::string> bundle_tree();
  static std::map<std::string, std::string> runtime_tree();
  static void write_base_model(const std::string& directory);
};

TarBuilder data_tar();
TarBuilder runtime_tar();

}  // namespace decant::test
