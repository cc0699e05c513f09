// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "decant/base/text.hpp"
#include "decant/base/threads.hpp"
#include "decant/fs/sys.hpp"
#include "decant/hash/hasher.hpp"
#include "object_supply.hpp"
#include "staging.hpp"

namespace decant::restore {

namespace {

// What one staged or adopted file turned out to be.
struct Outcome {
  unpack::EntryState state;
  hash::Digest sha256;
};

class FileStager {
 public:
  FileStager(Workshop& shop, const OpenRoot& root, PartWork& part,
             std::shared_ptr<progress::PartCounters> counters, report::PartResult& result)
      : shop_{shop},
        p_{shop.prepared},
        root_{root},

        counters_{std::move(counters)},
        result_{result},
        tree_{root.staging.make_dirs(part_dir(part), 0700)
                  .make_dirs(fs::RelPath::require("tree", "tree"), 0755)},
        arriving_{root.staging.make_dirs(arriving_dir(part), 0700)} {}

  std::uint64_t network_bytes() const { return network_bytes_; }
  std::uint64_t local_bytes() const { return local_bytes_; }

  // Throws ClaimedByOther when the file is left to somebody else, who brings it to the cache.
  Outcome stage(const model::LooseFile& file, Others others) {
    // An executable one would make this node's digest differ from the others': that is a conflict.
    const auto facts = root_.dir.stat(file.path);
    const bool executable = facts && facts->owner_executable();
    if (auto there = executable ? std::nullopt : adopt(root_.dir, file.path, file))
      return {.state = {unpack::Landed::adopted, there->first}, .sha256 = there->second};
    // Staged by an earlier run that did not come to its end: read it once and keep it.
    if (auto kept = adopt(tree_, file.path, file))
      return {.state = {unpack::Landed::staged, kept->first}, .sha256 = kept->second};
    tree_.remove_tree(file.path);
    if (auto kept = adopt(arriving_, arrived_name(file), file)) return stage_arrived(file, kept->second);
    arriving_.remove_tree(arrived_name(file));
    return bring(file, others);
  }

 private:
  // The stamp and SHA-256 of a file whose bytes are those of the release; nullopt when it is not such a file.
  std::optional<std::pair<fs::Stamp, hash::Digest>> adopt(const fs::DirHandle& base, const fs::RelPath& name,
                                                          const model::LooseFile& file) {
    fs::EntryFacts facts;
    const auto fd = base.open_file_if_there(name, &facts);
    if (!fd || facts.size != file.size) return std::nullopt;
    const auto digest =
        hash::hash_file(fd->get(), file.size, file.digest.algorithm(), file.path.str(), p_.stop());
    if (digest != file.digest) return std::nullopt;
    counters_->bytes_done += file.size;
    return std::pair{fs::stamp_of(facts), sha256_of(fd->get(), file, digest)};
  }

  hash::Digest sha256_of(int fd, const model::LooseFile& file, const hash::Digest& known) const {
    if (known.algorithm() == hash::Algorithm::sha256) return known;
    return hash::hash_file(fd, file.size, hash::Algorithm::sha256, file.path.str(), p_.stop());
  }

  Outcome bring(const model::LooseFile& file, Others others) {
    const source::Object object{.path = file.repo_path, .size = file.size, .digest = file.digest};
    const Keep keep = p_.request.cache_given && p_.request.cache ? Keep::in_cache : Keep::privately;
    ObjectSupply supply{shop_, object, &arriving_, keep, counters_, escape_for_display(file.repo_path.str()),
                        others};
    const OnExit count{[&] { network_bytes_ += supply.bytes_from_network(); }};
    for (;;) {
      auto& reader = supply.open();
      std::optional<Outcome> outcome;
      const auto digest = supply.is_download() ? drain(reader) : copy(reader, file, outcome);
      if (digest != file.digest) {
        supply.refuse(digest);
        continue;
      }
      set_source(supply.from());
      if (supply.is_download()) return take_download(supply, file, keep);
      local_bytes_ += file.size;
      return *outcome;
    }
  }

  Outcome take_download(ObjectSupply& supply, const model::LooseFile& file, Keep keep) {
    auto partial = supply.release();
    if (keep == Keep::in_cache) {
      p_.cache->finish(std::move(partial), file.digest);
      const auto fd = p_.cache->open_final(file.digest, file.size);
      std::optional<Outcome> outcome;
      if (fd) copy(*reader_over(fd->get(), file), file, outcome);
      if (outcome) return *outcome;
      throw Error{ErrorKind::integrity, fmt::format("{}: the cached file changed while it was copied",
                                                    escape_for_display(file.path.str()))};
    }
    const auto sha256 = sha256_of(partial.data_fd(), file, file.digest);
    partial.finish(arriving_, arrived_name(file), 0644);
    return stage_arrived(file, sha256);
  }

  std::unique_ptr<fetch::ObjectReader> reader_over(int fd, const model::LooseFile& file) {
    return fetch::read_file(fd, file.path.str(),
                            {.path = file.repo_path, .size = file.size, .digest = file.digest}, shop_.budget,
                            nullptr, p_.stop());
  }

  // Between the partial and the staged tree: found again by this name when the process was killed there.
  static fs::RelPath arrived_name(const model::LooseFile& file) {
    return fs::RelPath::require("arrived-" + hash::sha256(file.path.str()).hex().substr(0, 32), "name");
  }

  Outcome stage_arrived(const model::LooseFile& file, const hash::Digest& sha256) {
    return {.state = {unpack::Landed::staged,
                      unpack::stage_file(arriving_, arrived_name(file), tree_, file.path)},
            .sha256 = sha256};
  }

  // Writes what the reader gives into a new file, which is staged when it is the right one; its digest.
  hash::Digest copy(fetch::ObjectReader& reader, const model::LooseFile& file,
                    std::optional<Outcome>& outcome) {
    const auto name = fs::RelPath::require("copy-" + arrived_name(file).str(), "name");
    arriving_.remove_tree(name);  // of a run that was killed
    auto fd = arriving_.create_file(name, 0600);
    if (!fd) throw Error{ErrorKind::bug, arriving_.path_of(name) + " is there again"};
    hash::Hasher sha256;
    const bool other = file.digest.algorithm() != hash::Algorithm::sha256;
    while (auto block = reader.next()) {
      if (other) sha256.update(block->filled());
      fs::sys::write_all(fd->get(), block->filled(), arriving_.path_of(name));
    }
    const auto digest = reader.digest();
    fd->close();
    if (digest == file.digest)
      outcome =
          Outcome{.state = {unpack::Landed::staged, unpack::stage_file(arriving_, name, tree_, file.path)},
                  .sha256 = other ? sha256.finish() : digest};
    else
      arriving_.remove_file(name);
    return digest;
  }

  void set_source(const std::vector<report::PlaceBytes>& places) {
    std::lock_guard lock{mutex_};
    take_places(result_, places);
  }

  std::atomic<std::uint64_t> network_bytes_{0};
  std::atomic<std::uint64_t> local_bytes_{0};
  Workshop& shop_;
  Prepared& p_;
  const OpenRoot& root_;
  std::shared_ptr<progress::PartCounters> counters_;
  report::PartResult& result_;
  fs::DirHandle tree_;
  fs::DirHandle arriving_;
  std::mutex mutex_;
};

}  // namespace

void stage_files(Workshop& shop, state::Bundle& bundle, const OpenRoot& root, PartWork& part,
                 const std::shared_ptr<progress::PartCounters>& counters, report::PartResult& result) {
  auto& p = shop.prepared;
  refuse_lost_ownership(bundle);
  counters->phase = progress::PartPhase::fetching;
  FileStager stager{shop, root, part, counters, result};
  const OnExit add_up{[&] {
    result.bytes_from_network += stager.network_bytes();
    result.bytes_from_local += stager.local_bytes();
  }};

  // Positions to stage: all wanted files, or those of an earlier index that are gone.
  std::vector<std::size_t> todo;
  std::unordered_map<std::string, std::size_t> by_path;
  if (part.stage_all) {
    for (std::size_t i = 0; i < part.files.size(); ++i) todo.push_back(i);
  } else {
    for (std::size_t i = 0; i < part.files.size(); ++i) by_path.emplace(part.files[i].path.str(), i);
    for (const auto i : part.needed)
      if (const auto it = by_path.find(part.index->entries[i].path.str()); it != by_path.end())
        todo.push_back(it->second);
    todo.insert(todo.end(), part.new_files.begin(), part.new_files.end());
  }

  std::vector<std::optional<Outcome>> outcomes(part.files.size());
  std::vector<Problem> problems;
  std::mutex mutex;
  const auto who_brings = [&](std::size_t position) -> std::optional<cache::Claim> {
    const auto& file = part.files[todo[position]];
    if (!p.cache || !p.request.cache_given) return std::nullopt;
    return p.cache->claimed_by_other(file.digest, file.size);
  };
  WorkQueue queue{todo.size(), p, who_brings, [&](std::size_t position) {
                    return escape_for_display(part.files[todo[position]].path.str());
                  }};
  {
    ThreadGroup threads;
    const auto count =
        std::min<std::size_t>(todo.size(), static_cast<std::size_t>(p.request.connections) + 2);
    start_workers(threads, count, [&] {
      while (const auto item = queue.next()) {
        const auto i = todo[item->index];
        try {
          outcomes[i] = stager.stage(part.files[i], item->others);
          counters->entries_done += 1;
        } catch (const ClaimedByOther& other) {
          queue.put_back(item->index, other);
        } catch (const Error& error) {
          // One file's failure does not stop the others; a full disk would fail them all the same.
          std::lock_guard lock{mutex};
          problems.push_back(error.problem());
          if (error.kind() == ErrorKind::disk) queue.close();
        }
      }
    });
    threads.wait();
  }
  if (!problems.empty()) {
    auto worst = problems.front();
    for (const auto& problem : problems)
      if (worse_exit_code(exit_code(problem.kind), exit_code(worst.kind)) != exit_code(worst.kind))
        worst = problem;
    if (problems.size() > 1) worst.thing += fmt::format(" (and {} more files failed)", problems.size() - 1);
    throw Error{worst};
  }

  // The index holds every wanted file, in path order, so that marks stay parallel over runs with one
  // selection.
  model::PartIndex index;
  std::vector<unpack::EntryState> states;
  index.part_digest =
      part.spec.kind == model::PartKind::place ? *part.spec.file.digest : p.lock.manifest_sha256;
  index.part_size = part.size();
  std::unordered_map<std::string, std::size_t> old;
  if (part.index)
    for (std::size_t i = 0; i < part.index->entries.size(); ++i)
      old.emplace(part.index->entries[i].path.str(), i);
  for (std::size_t i = 0; i < part.files.size(); ++i) {
    model::IndexEntry entry;
    entry.path = part.files[i].path;
    entry.size = part.files[i].size;
    if (outcomes[i]) {
      entry.sha256 = outcomes[i]->sha256;
      states.push_back(outcomes[i]->state);
    } else {
      const auto at = old.find(entry.path.str());
      if (at == old.end()) throw Error{ErrorKind::bug, "a file is neither staged nor in the earlier index"};
      entry.sha256 = part.index->entries[at->second].sha256;
      states.push_back({});
    }
    index.entries.push_back(std::move(entry));
  }
  // Marks of entries that this run did not touch come from the earlier record, found by path.
  if (part.record && part.index) {
    state::Marks carried(index.entries.size());
    for (std::size_t i = 0; i < index.entries.size(); ++i)
      if (const auto it = old.find(index.entries[i].path.str()); it != old.end())
        carried[i] = part.record->marks[it->second];
    part.record->marks = std::move(carried);
  }
  for (const auto& state : states) {
    if (state.landed == unpack::Landed::staged) {
      ++result.written;
      shop.bytes_written += state.stamp.size;
    }
    if (state.landed == unpack::Landed::adopted) ++result.adopted;
  }
  result.entries = index.entries.size();
  // An interrupted run of a wider selection may have left more in the staged tree, and a publish moves all of
  // it.
  std::unordered_set<std::string> wanted;
  for (const auto& entry : index.entries) wanted.insert(entry.path.str());
  if (const auto tree = root.staging.open_dir_if_there(tree_dir(part))) keep_only(*tree, {}, wanted);
  record_staged(shop, bundle, root, part, std::move(index), states);
  counters->phase = progress::PartPhase::staged;
}

}  // namespace decant::restore
