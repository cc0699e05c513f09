// SPDX-License-Identifier: Apache-2.0
#include "support/hub/repo.hpp"

#include <stdexcept>
#include <utility>

namespace decant::test {

TestRepo::TestRepo(RepoOptions options) : options_{std::move(options)} {
  if (options_.id.find('/') == std::string::npos)
    throw std::invalid_argument{"test hub: a repo id is ORG/NAME"};
}

HubObject TestRepo::make_object(const HubFile& file) const {
  HubObject object{.content = file.content, .store = file.store};
  if (object.store == Store::automatic) {
    object.store = file.content.size() >= options_.lfs_min ? options_.big_files : Store::regular;
  }
  if (object.store == Store::regular) {
    object.oid = file.content.git_sha1();
    return object;
  }
  object.sha256 = file.content.sha256();
  const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + object.sha256 +
                              "\nsize " + std::to_string(file.content.size()) + "\n";
  object.oid = git_blob_id(pointer);
  object.pointer_size = pointer.size();
  if (object.store == Store::xet) object.xet_hash = sha256_hex("xet " + object.sha256);
  return object;
}

std::string TestRepo::add_commit(const std::vector<HubFile>& files, const std::vector<std::string>& refs) {
  const std::lock_guard lock{mutex_};
  auto commit = std::make_shared<Commit>();
  std::string summary = options_.type + " " + options_.id + " " + last_ + "\n";
  for (const HubFile& file : files) {
    const HubObject object = make_object(file);
    if (!commit->files.emplace(file.path, object).second) {
      throw std::invalid_argument{"test hub: two files at " + file.path};
    }
  }
  for (const auto& [path, object] : commit->files) summary += object.oid + " " + path + "\n";
  commit->id = git_blob_id(summary);
  last_ = commit->id;
  commits_[last_] = std::move(commit);
  for (const std::string& ref : refs) refs_[ref] = last_;
  return last_;
}

std::string TestRepo::commit(const std::string& ref) const {
  const std::lock_guard lock{mutex_};
  return refs_.at(ref);
}

void TestRepo::move_ref(const std::string& ref, const std::string& commit) {
  const std::lock_guard lock{mutex_};
  refs_[ref] = commits_.at(commit)->id;
}

void TestRepo::drop_commit(const std::string& commit) {
  const std::lock_guard lock{mutex_};
  commits_.erase(commit);
  std::erase_if(refs_, [&](const auto& ref) { return ref.second == commit; });
}

void TestRepo::change_options(RepoOptions options) {
  const std::lock_guard lock{mutex_};
  if (options.id != options_.id || options.type != options_.type) {
    throw std::invalid_argument{"test hub: a repo keeps its type and id"};
  }
  options_ = std::move(options);
}

RepoOptions TestRepo::options() const {
  const std::lock_guard lock{mutex_};
  return options_;
}

std::shared_ptr<const Commit> TestRepo::find_commit(const std::string& revision) const {
  const std::lock_guard lock{mutex_};
  const auto ref = refs_.find(revision);
  const auto found = commits_.find(ref == refs_.end() ? revision : ref->second);
  return found == commits_.end() ? nullptr : found->second;
}

std::map<std::string, std::string> TestRepo::refs() const {
  const std::lock_guard lock{mutex_};
  return refs_;
}

std::optional<Content> TestRepo::find_object(const std::string& path, const std::string& hash) const {
  const std::lock_guard lock{mutex_};
  for (const auto& [id, commit] : commits_) {
    const auto file = commit->files.find(path);
    if (file == commit->files.end()) continue;
    if (file->second.sha256 == hash || file->second.xet_hash == hash) return file->second.content;
  }
  return std::nullopt;
}

}  // namespace decant::test
