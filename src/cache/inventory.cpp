// SPDX-License-Identifier: Apache-2.0
#include "decant/cache/inventory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <utility>

#include "decant/base/clock.hpp"
#include "decant/base/error.hpp"
#include "decant/base/stop.hpp"
#include "decant/base/text.hpp"
#include "turn.hpp"

namespace decant::cache {
namespace {

constexpr std::uint64_t k_most_lock_bytes = 512 * k_mib;
constexpr std::string_view k_releases = "releases";
constexpr std::string_view k_manifest_name = "release_manifest.json";
constexpr std::string_view k_temp_prefix = ".tmp-";  // of write_file_atomically
constexpr std::size_t k_nonce_digits = 16;

std::optional<fs::RelPath> try_rel(const std::string& name) {
  return fs::RelPath::parse(name);
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

class Walk {
 public:
  Walk(const fs::DirHandle& root, const Stop& stop) : root_{root}, stop_{stop} {}

  Inventory run() {
    for (const std::string& name : root_.list()) {
      const auto algorithm = hash::parse_algorithm(name);
      const auto dir = algorithm || name == k_releases ? open(root_, name) : std::nullopt;
      if (!dir) {
        out_.foreign.push_back(name);
      } else if (algorithm) {
        objects_of(*algorithm, *dir, name);
      } else {
        releases_of(*dir, name);
      }
    }
    connect();
    return std::move(out_);
  }

 private:
  static std::optional<fs::DirHandle> open(const fs::DirHandle& parent, const std::string& name) {
    const auto path = try_rel(name);
    return path ? parent.open_dir_if_there(*path) : std::nullopt;
  }

  void objects_of(hash::Algorithm algorithm, const fs::DirHandle& directory, const std::string& path) {
    for (const std::string& name : directory.list()) {
      stop_.throw_if_requested();
      const std::string below = fmt::format("{}/{}", path, name);
      const bool is_shard = name.size() == 2 && is_hex(name);
      const auto shard = is_shard ? open(directory, name) : std::nullopt;
      if (!shard) {
        out_.foreign.push_back(below);
        continue;
      }
      for (const std::string& entry : shard->list()) {
        if (!entry.starts_with(name) ||
            !object_entry(algorithm, *shard, entry, fmt::format("{}/{}", below, entry)))
          out_.foreign.push_back(fmt::format("{}/{}", below, entry));
      }
    }
  }

  // False: nothing that a cache would have put there.
  bool object_entry(hash::Algorithm algorithm, const fs::DirHandle& shard, const std::string& name,
                    const std::string& path) {
    const std::string hex = name.substr(0, name.find('.'));
    const auto digest = hash::Digest::parse(algorithm, hex);
    const auto entry = try_rel(name);
    const auto facts = digest && entry ? shard.stat(*entry) : std::nullopt;
    if (!facts) return false;
    if (name == hex) {
      if (facts->type != fs::FileType::file) return false;
      out_.objects.push_back({.path = path,
                              .digest = *digest,
                              .size = facts->size,
                              .modified = facts->mtime_sec,
                              .stamp = fs::stamp_of(*facts),
                              .sealed = (facts->mode & 0777) == 0444,
                              .mentioned = {}});
      return true;
    }
    if (is_turn_name(name, hex)) {
      if (facts->type != fs::FileType::file) return false;
      const auto owner = read_owner(shard, *entry, now_, fs::k_heartbeat_expiry_seconds);
      if (owner.hold != Hold::held) out_.leftovers.push_back(path);
      return true;
    }
    const std::string prefix = hex + std::string{k_partial_infix};
    const bool is_partial = name.starts_with(prefix) && name.size() == prefix.size() + k_nonce_digits &&
                            is_hex(std::string_view{name}.substr(prefix.size()));
    return is_partial && facts->type == fs::FileType::dir && partial_entry(*digest, shard, name, path);
  }

  bool partial_entry(const hash::Digest& digest, const fs::DirHandle& shard, const std::string& name,
                     const std::string& path) {
    const auto found = look_at_partial(shard, name, std::nullopt, &digest, now_);
    if (!found) return false;
    out_.partials.push_back({.path = path,
                             .digest = digest,
                             .landed_bytes = found->landed_bytes,
                             .beat = found->owner.stamp.mtime_sec,
                             .holder = describe(found->owner),
                             .is_held = found->hold() == Hold::held,
                             .is_ours = found->is_ours});
    return true;
  }

  void releases_of(const fs::DirHandle& directory, const std::string& path) {
    stop_.throw_if_requested();
    std::optional<StoredRelease> release;
    bool has_unreadable = false;
    std::vector<std::string> beside;
    for (const std::string& name : directory.list()) {
      const std::string below = fmt::format("{}/{}", path, name);
      const auto entry = try_rel(name);
      const auto facts = entry ? directory.stat(*entry) : std::nullopt;
      if (facts && facts->type == fs::FileType::dir) {
        if (const auto dir = directory.open_dir_if_there(*entry)) releases_of(*dir, below);
        continue;
      }
      const bool is_file = facts && facts->type == fs::FileType::file;
      if (is_file && name == model::k_lock_name) {
        release = read_release(directory, *entry, *facts, path);
        if (release) continue;
        has_unreadable = true;
        out_.unreadable.push_back(below);
        out_.foreign.push_back(below);
      } else if (is_file && name == k_manifest_name) {
        manifest_bytes_[path] = facts->size;
        beside.push_back(below);
      } else if (is_file && name.starts_with(k_temp_prefix)) {
        if (now_ - facts->mtime_sec > fs::k_heartbeat_expiry_seconds) out_.leftovers.push_back(below);
      } else {
        out_.foreign.push_back(below);
      }
    }
    if (release) {
      release->bytes += manifest_bytes_[path];
      out_.releases.push_back(*std::move(release));
    } else if (!has_unreadable) {
      // A prune that was killed between the two: of no use without its lock.
      for (auto& file : beside) out_.leftovers.push_back(std::move(file));
    }
  }

  static std::optional<StoredRelease> read_release(const fs::DirHandle& directory, const fs::RelPath& name,
                                                   const fs::EntryFacts& facts, const std::string& path) {
    try {
      const auto text = directory.read_small_file(name, k_most_lock_bytes);
      if (!text) return std::nullopt;
      return StoredRelease{.path = path,
                           .lock = model::parse_lock(*text, directory.path_of(name)),
                           .bytes = facts.size,
                           .modified = facts.mtime_sec};
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  void connect() {
    std::map<hash::Digest, std::size_t> known;
    for (std::size_t i = 0; i < out_.objects.size(); ++i) known.emplace(out_.objects[i].digest, i);
    for (std::size_t r = 0; r < out_.releases.size(); ++r) {
      auto& release = out_.releases[r];
      for (const auto& part : release.lock.parts) {
        ++release.objects;
        const auto it = known.find(part.digest);
        if (it == known.end() || out_.objects[it->second].size != part.size) continue;
        ++release.objects_here;
        auto& mentioned = out_.objects[it->second].mentioned;
        if (mentioned.empty() || mentioned.back() != r) mentioned.push_back(r);
      }
    }
  }

  const fs::DirHandle& root_;
  const Stop& stop_;
  const std::int64_t now_ = system_clock().wall_seconds();
  Inventory out_;
  std::map<std::string, std::uint64_t> manifest_bytes_;
};

}  // namespace

std::uint64_t Inventory::object_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& object : objects) bytes += object.size;
  return bytes;
}

std::uint64_t Inventory::partial_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& partial : partials) bytes += partial.landed_bytes;
  return bytes;
}

Inventory take_inventory(const Cache& cache, const Stop& stop) {
  const auto root = fs::DirHandle::open_if_there(cache.path());
  if (!root)
    throw Error{Problem{.kind = ErrorKind::usage,
                        .thing = fmt::format("there is no cache at {}", escape_for_display(cache.path())),
                        .expected = "a directory",
                        .found = "nothing",
                        .hint = "check --download-cache"}};
  return Walk{*root, stop}.run();
}

}  // namespace decant::cache
