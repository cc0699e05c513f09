// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/archive_builder.hpp"
#include "support/hub/repo.hpp"

namespace decant::test {

// Path -> what lies there, in the words of visible() (world.hpp).
using Wanted = std::map<std::string, std::string>;

std::string wanted_file(std::string_view content, unsigned mode);
std::string wanted_loose_file(std::string_view content);  // with no time of its own

// Entries that go into a tar and, by their own account, into what a restore of it must lead to.
class Tree {
 public:
  Tree& dir(const std::string& path);
  Tree& file(const std::string& path, std::string_view content, unsigned mode = 0644);
  Tree& link(const std::string& path, const std::string& target);
  Tree& hard_link(const std::string& path, const std::string& target);

  std::string tar() const { return tar_.closed(); }
  void add_to(Wanted& wanted, const std::string& under) const;

 private:
  TarBuilder tar_;
  Wanted entries_;
};

struct Part {
  std::string name;
  Content content;
  std::string where;                  // JSON: "unpack": {…} or "place": {…}
  std::optional<std::uint64_t> size;  // as the manifest states it, when not the content's
  std::optional<std::string> sha256;
};

// releases/r1/… with its manifest; every part is an LFS file, so it comes from the CDN.
std::vector<HubFile> repo_files(const std::vector<Part>& parts);
std::string part_path(const Part& part);

// Some sixty entries: an archive into the bundle, one into the runtime root, a placed file.
struct SmallRelease {
  SmallRelease();
  std::vector<Part> parts;
  Wanted bundle;
  Wanted runtime;
};

// Files without a manifest.
struct LooseRelease {
  LooseRelease();
  std::vector<HubFile> files;
  Wanted bundle;
};

// Two archives of files that do not compress, `mib` in all, into the bundle.
struct LargeRelease {
  explicit LargeRelease(std::size_t mib);
  std::vector<Part> parts;
  Wanted bundle;
  std::uint64_t size = 0;  // of all parts
};

}  // namespace decant::test
