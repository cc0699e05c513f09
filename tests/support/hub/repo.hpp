// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/hub/content.hpp"

namespace decant::test {

enum class Store : std::uint8_t { automatic, regular, lfs, xet };

struct HubFile {
  std::string path;
  Content content;
  Store store = Store::automatic;  // by size: RepoOptions::lfs_min
};

// A file as a commit holds it.
struct HubObject {
  Content content;
  Store store = Store::regular;  // never automatic
  std::string oid;               // git blob id, of the pointer text when in LFS or Xet
  std::string sha256;            // LFS and Xet only
  std::string xet_hash;          // Xet only
  std::uint64_t pointer_size = 0;

  bool is_lfs() const { return store != Store::regular; }
};

struct Commit {
  std::string id;
  std::map<std::string, HubObject> files;
};

struct RepoOptions {
  std::string type = "dataset";           // dataset, model, space
  std::string id;                         // ORG/NAME
  std::vector<std::string> renamed_from;  // old ids: 307 to the new one
  bool is_private = false;
  std::string gated;                         // empty, "auto" or "manual"
  std::vector<std::string> accepted_tokens;  // may read it when private or gated
  bool disabled = false;
  bool gated_tree = false;     // listing a gated repo needs access, too
  bool resolve_cache = false;  // small files answer 307 to /api/resolve-cache
  std::uint64_t lfs_min = 1024 * 1024;
  Store big_files = Store::lfs;  // what `automatic` means from lfs_min on
};

// One repo of the test hub. May be changed while the hub serves it.
class TestRepo {
 public:
  explicit TestRepo(RepoOptions options);

  // Holds exactly `files`; moves `refs` to it. The id is made from the content, the repo and the commit
  // before, so it is the same in every run. Returns it.
  std::string add_commit(const std::vector<HubFile>& files, const std::vector<std::string>& refs = {"main"});
  std::string commit(const std::string& ref = "main") const;
  void move_ref(const std::string& ref, const std::string& commit);
  void drop_commit(const std::string& commit);  // as after a rewritten history; refs to it go, too
  void change_options(RepoOptions options);     // type and id must stay

  RepoOptions options() const;
  std::shared_ptr<const Commit> find_commit(const std::string& revision) const;  // ref or full id; null: none
  std::map<std::string, std::string> refs() const;
  // An object of any commit by path and SHA-256 or Xet hash.
  std::optional<Content> find_object(const std::string& path, const std::string& hash) const;

 private:
  HubObject make_object(const HubFile& file) const;

  mutable std::mutex mutex_;
  RepoOptions options_;
  std::string last_;
  std::map<std::string, std::shared_ptr<const Commit>> commits_;
  std::map<std::string, std::string> refs_;
};

}  // namespace decant::test
