// SPDX-License-Identifier: Apache-2.0
#include "decant/source/store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <vector>

#include "decant/base/text.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/fs/read.hpp"

namespace decant::source {
namespace {

namespace stdfs = std::filesystem;

constexpr std::uint64_t k_piece = k_mib;

fs::RelPath rel(std::string_view text) {
  return fs::RelPath::require(text, "a name in a store");
}

// One repo's directory in a Hugging Face cache.
struct CachedRepo {
  fs::DirHandle dir;
  std::string real_path;               // where it lies, links resolved
  std::vector<fs::RelPath> snapshots;  // snapshots/COMMIT
};

// Names that a repo's directory in a Hugging Face cache begins with.
bool is_repo_name(std::string_view name) {
  return name.starts_with("models--") || name.starts_with("datasets--") || name.starts_with("spaces--");
}

class Store final : public Source {
 public:
  Store(fs::DirHandle root, std::string name) : root_{std::move(root)}, name_{std::move(name)} {}

  std::string name() const override { return name_; }
  bool is_local() const override { return true; }

  std::optional<Fd> open_in_place(const Object& object) override {
    if (auto fd = open_plain(root_, named_by_digest(object), object.size)) return fd;
    const std::vector<CachedRepo>& repos = cached_repos();
    const fs::RelPath blob = rel("blobs") / rel(object.digest.hex());
    for (const CachedRepo& repo : repos)
      if (auto fd = open_plain(repo.dir, blob, object.size)) return fd;
    if (object.path.is_root() || is_bookkeeping(object.path)) return std::nullopt;
    if (auto fd = open_plain(root_, object.path, object.size)) return fd;
    for (const CachedRepo& repo : repos)
      for (const fs::RelPath& snapshot : repo.snapshots)
        if (auto fd = open_in_snapshot(repo, snapshot, object)) return fd;
    return std::nullopt;
  }

  ReadOutcome read(const Object& object, ByteRange range, ByteSink& sink, const Stop& stop) override {
    ReadOutcome outcome;
    if (range.length == 0) return outcome;
    const auto fd = open_in_place(object);
    if (!fd) {
      outcome.end = ReadEnd::absent;
      outcome.problem = {
          .kind = ErrorKind::access,
          .thing = fmt::format("{} is not in {}", escape_for_display(object.path.str()), name_),
          .expected = fmt::format("a file of {} bytes", object.size),
          .found = "none"};
      return outcome;
    }
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min(k_piece, range.length)));
    while (outcome.received < range.length) {
      stop.throw_if_requested();
      const auto want = std::min<std::uint64_t>(piece.size(), range.length - outcome.received);
      std::size_t got = 0;
      try {
        got = fs::pread_all(fd->get(), {piece.data(), static_cast<std::size_t>(want)},
                            range.offset + outcome.received, object.path.str());
      } catch (const Error& error) {
        outcome.end = ReadEnd::failed;
        outcome.problem = error.problem();
        return outcome;
      }
      if (got > 0) sink.write(Bytes{piece.data(), got});
      outcome.received += got;
      if (got == want) continue;
      outcome.end = ReadEnd::wrong_object;
      outcome.problem = {.kind = ErrorKind::integrity,
                         .thing = fmt::format("{} in {} was cut while it was read",
                                              escape_for_display(object.path.str()), name_)};
      break;
    }
    return outcome;
  }

 private:
  static fs::RelPath named_by_digest(const Object& object) {
    const std::string hex = object.digest.hex();
    return rel(to_string(object.digest.algorithm())) / rel(hex.substr(0, 2)) / rel(hex);
  }

  static bool is_bookkeeping(const fs::RelPath& path) {
    return path.is_within(rel(".git")) || path.is_within(rel(".cache/huggingface"));
  }

  // What cannot be read is not there: another place has it, or its absence is told at the end.
  static std::optional<Fd> open_plain(const fs::DirHandle& dir, const fs::RelPath& path, std::uint64_t size) {
    try {
      fs::EntryFacts facts;
      auto fd = dir.open_file_if_there(path, &facts);
      if (fd && facts.size == size) return fd;
    } catch (const Error&) {
    }
    return std::nullopt;
  }

  // A regular file, or a link to one that stays inside the repo's directory.
  static std::optional<Fd> open_in_snapshot(const CachedRepo& repo, const fs::RelPath& snapshot,
                                            const Object& object) {
    try {
      const fs::RelPath path = snapshot / object.path;
      if (auto fd = open_plain(repo.dir, path, object.size)) return fd;
      const auto target = repo.dir.read_link(path);
      if (!target) return std::nullopt;
      const stdfs::path link = target->starts_with('/')
                                   ? stdfs::path{*target}.lexically_relative(repo.real_path)
                                   : (stdfs::path{path.parent().str()} / *target).lexically_normal();
      const auto inside = fs::RelPath::parse(link.string());
      if (inside && !inside->is_root()) return open_plain(repo.dir, *inside, object.size);
    } catch (const Error&) {
    }
    return std::nullopt;
  }

  const std::vector<CachedRepo>& cached_repos() {
    std::call_once(looked_, [this] {
      std::error_code ignored;
      const stdfs::path real = stdfs::canonical(root_.path(), ignored);
      add_repos_below(root_, real.string());
      if (const auto hub = open_dir(root_, rel("hub"))) add_repos_below(*hub, (real / "hub").string());
      add_repo(root_.duplicate(), real.string());
      // One of its snapshots was named.
      if (real.parent_path().filename() == "snapshots") {
        const std::string repo = real.parent_path().parent_path().string();
        try {
          if (auto dir = fs::DirHandle::open_if_there(repo)) add_repo(std::move(*dir), repo);
        } catch (const Error&) {
        }
      }
    });
    return repos_;
  }

  static std::optional<fs::DirHandle> open_dir(const fs::DirHandle& dir, const fs::RelPath& path) {
    try {
      return dir.open_dir_if_there(path);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  static std::vector<std::string> names_in(const fs::DirHandle& dir) {
    try {
      return dir.list();
    } catch (const Error&) {
      return {};
    }
  }

  void add_repos_below(const fs::DirHandle& dir, const std::string& real_path) {
    for (const std::string& name : names_in(dir)) {
      if (!is_repo_name(name)) continue;
      if (auto repo = open_dir(dir, rel(name)))
        add_repo(std::move(*repo), fmt::format("{}/{}", real_path, name));
    }
  }

  void add_repo(fs::DirHandle dir, std::string real_path) {
    std::vector<fs::RelPath> snapshots;
    if (const auto all = open_dir(dir, rel("snapshots")))
      for (const std::string& commit : names_in(*all)) snapshots.push_back(rel("snapshots") / rel(commit));
    if (snapshots.empty() && !open_dir(dir, rel("blobs"))) return;
    repos_.push_back({std::move(dir), std::move(real_path), std::move(snapshots)});
  }

  const fs::DirHandle root_;
  const std::string name_;
  std::once_flag looked_;
  std::vector<CachedRepo> repos_;  // set once
};

[[noreturn]] void refuse(const std::string& path, const std::string& name, std::string found) {
  throw Error{Problem{.kind = ErrorKind::usage,
                      .thing = fmt::format("{}: {} cannot be used", name, escape_for_display(path)),
                      .expected = "a directory that can be read",
                      .found = std::move(found),
                      .hint = "check the path, and that the file system it is on is mounted"}};
}

}  // namespace

std::unique_ptr<Source> open_store(const std::string& path, std::string name) {
  std::optional<fs::DirHandle> root;
  try {
    root = fs::DirHandle::open_if_there(path);
  } catch (const Error& error) {
    refuse(path, name, error.problem().thing);
  }
  if (!root) refuse(path, name, "nothing");
  if (::faccessat(root->fd(), ".", R_OK | X_OK, AT_EACCESS) != 0)
    refuse(path, name, "no permission to read it");
  return std::make_unique<Store>(std::move(*root), std::move(name));
}

}  // namespace decant::source
