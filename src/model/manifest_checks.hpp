// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "decant/fs/rel_path.hpp"
#include "decant/model/manifest.hpp"

namespace decant::model {

// Which part claims which path, so that two parts cannot claim one file, nor one a file where another needs a
// directory. Entries inside archives are not known here; only what the manifest itself names.
class Claims {
 public:
  // Each returns what is in the way, in words; empty when nothing is.
  std::string file(const std::string& root, const fs::RelPath& path, const std::string& owner);
  std::string directory(const std::string& root, const fs::RelPath& path, const std::string& owner);

 private:
  struct Claim {
    std::string owner;
    bool is_file = false;
  };
  std::string parents(const std::string& root, const fs::RelPath& path, const std::string& owner);
  std::map<std::string, std::map<fs::RelPath, Claim>> roots_;
};

}  // namespace decant::model
