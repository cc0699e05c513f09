// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "decant/base/text.hpp"
#include "decant/fs/dir_handle.hpp"
#include "decant/hash/hasher.hpp"
#include "decant/source/source.hpp"

namespace decant::source {
namespace {

constexpr std::size_t k_piece = k_mib;

// What tools keep at the top of their copies that is not of the repo.
bool is_bookkeeping(const fs::RelPath& directory) {
  return directory.str() == ".git" || directory.str() == ".cache/huggingface";
}

struct OpenFile {
  Fd fd;
  std::uint64_t size = 0;
};

// A copy of a repo's tree. Directories are never entered through links; a link to a regular file is followed,
// because a snapshot in the Hugging Face cache consists of such links. Only digests decide what the bytes are
// worth.
class Tree {
 public:
  Tree(fs::DirHandle root, std::string name) : root_{std::move(root)}, name_{std::move(name)} {}

  const std::string& name() const { return name_; }
  const fs::DirHandle& root() const { return root_; }

  // nullopt: nothing there, or no regular file. Throws Error{access} when it may not be read.
  std::optional<OpenFile> open(const fs::RelPath& path) const {
    fs::EntryFacts facts;
    if (auto fd = root_.open_file_if_there(path, &facts)) return OpenFile{std::move(*fd), facts.size};
    const auto parent = root_.open_dir_if_there(path.parent());
    if (path.is_root() || !parent) return std::nullopt;
    const std::string last{path.name()};
    Fd fd{::openat(parent->fd(), last.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (!fd) {
      if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO) return std::nullopt;
      throw_errno(errno, "open", root_.path_of(path));
    }
    facts = fs::facts_of(fd.get());
    if (facts.type != fs::FileType::file) return std::nullopt;
    return OpenFile{std::move(fd), facts.size};
  }

 private:
  fs::DirHandle root_;
  std::string name_;
};

Problem missing(const Tree& tree, const fs::RelPath& path) {
  return {
      .kind = ErrorKind::access,
      .thing = fmt::format("{} is not in {}", escape_for_display(path.str()), tree.name()),
      .expected = "a regular file, or a link to one",
      .found = "none",
      .hint =
          "give the directory that holds the copy of the repo's root, and check that the copy is complete"};
}

Problem wrong_size(const Tree& tree, const Object& object, std::uint64_t found) {
  return {
      .kind = ErrorKind::integrity,
      .thing = fmt::format("{} in {} has another size", escape_for_display(object.path.str()), tree.name()),
      .expected = fmt::format("{} bytes", object.size),
      .found = fmt::format("{} bytes", found),
      .hint = "copy this file again from where it came, then run the same command again"};
}

class DirectorySource final : public Source {
 public:
  explicit DirectorySource(const Tree& tree) : tree_{tree} {}

  std::string name() const override { return tree_.name(); }
  bool is_local() const override { return true; }

  ReadOutcome read(const Object& object, ByteRange range, ByteSink& sink, const Stop& stop) override {
    if (range.length == 0) return {};
    ReadOutcome outcome;
    auto file = open_object(object, outcome);
    if (!file) return outcome;
    std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(k_piece, range.length)));
    while (outcome.received < range.length) {
      stop.throw_if_requested();
      const auto want =
          static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), range.length - outcome.received));
      const auto offset = static_cast<off_t>(range.offset + outcome.received);
      const ssize_t got = ::pread(file->fd.get(), piece.data(), want, offset);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return failed(std::move(outcome), object, errno);
      if (got == 0) {
        outcome.end = ReadEnd::wrong_object;
        outcome.problem = wrong_size(tree_, object, range.offset + outcome.received);
        return outcome;
      }
      sink.write(Bytes{piece.data(), static_cast<std::size_t>(got)});
      outcome.received += static_cast<std::uint64_t>(got);
    }
    return outcome;
  }

  std::optional<Fd> open_in_place(const Object& object) override {
    ReadOutcome outcome;
    auto file = open_object(object, outcome);
    if (!file) return std::nullopt;  // read() says why
    return std::move(file->fd);
  }

 private:
  // nullopt: the outcome says why.
  std::optional<OpenFile> open_object(const Object& object, ReadOutcome& outcome) const {
    try {
      auto file = tree_.open(object.path);
      if (!file) {
        outcome.end = ReadEnd::failed;
        outcome.problem = missing(tree_, object.path);
        return std::nullopt;
      }
      if (file->size != object.size) {
        outcome.end = ReadEnd::wrong_object;
        outcome.problem = wrong_size(tree_, object, file->size);
        return std::nullopt;
      }
      return file;
    } catch (const Error& error) {
      outcome.end = ReadEnd::failed;
      outcome.problem = error.problem();
      return std::nullopt;
    }
  }

  ReadOutcome failed(ReadOutcome outcome, const Object& object, int errno_value) const {
    outcome.end = ReadEnd::failed;
    try {
      throw_errno(errno_value, "read", tree_.root().path_of(object.path));
    } catch (const Error& error) {
      outcome.problem = error.problem();
    }
    return outcome;
  }

  const Tree& tree_;
};

class DirectoryRepository final : public Repository {
 public:
  DirectoryRepository(fs::DirHandle root, std::string name, const Stop& stop)
      : tree_{std::move(root), std::move(name)}, source_{tree_}, stop_{stop} {}

  model::SourceKind kind() const override { return model::SourceKind::directory; }
  std::string describe() const override { return tree_.name(); }
  model::LockSource lock_source() const override { return {.kind = model::SourceKind::directory}; }
  ResolvedRepo resolve(const std::string&) override { return {}; }
  void pin(const ResolvedRepo&) override {}
  Source& objects() override { return source_; }

  model::Listing paths_info(const std::vector<std::string>& paths) override {
    model::Listing listing;
    for (const auto& text : paths) {
      stop_.throw_if_requested();
      const auto path = fs::RelPath::parse(text);
      const auto file = path ? tree_.open(*path) : std::nullopt;
      if (file) listing.push_back({.path = text, .size = file->size});
    }
    return listing;
  }

  model::Listing list(const std::string& prefix) override {
    const auto start = fs::RelPath::require(prefix, "directory to list");
    model::Listing listing;
    if (const auto directory = tree_.root().open_dir_if_there(start)) {
      walk(*directory, start, listing);
    }
    std::sort(listing.begin(), listing.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    return listing;
  }

  std::optional<std::string> read_file(const std::string& path, std::uint64_t limit,
                                       const std::optional<hash::Digest>& expected) override {
    const auto rel = fs::RelPath::parse(path);
    const auto file = rel ? tree_.open(*rel) : std::nullopt;
    if (!file) return std::nullopt;
    if (file->size > limit) {
      throw Error{
          Problem{.kind = ErrorKind::state,
                  .thing = fmt::format("{} in {} is too large", escape_for_display(path), tree_.name()),
                  .expected = fmt::format("at most {} bytes", limit),
                  .found = fmt::format("{} bytes", file->size),
                  .hint = "tell who published it"}};
    }
    std::string content = read_whole(*file, *rel);
    if (expected) check_digest(content, *rel, *expected);
    return content;
  }

  void probe(const Object& object) override {
    const auto file = tree_.open(object.path);
    if (!file) throw Error{missing(tree_, object.path)};
    if (file->size == object.size) return;
    Problem problem = wrong_size(tree_, object, file->size);
    problem.kind = ErrorKind::access;
    throw Error{std::move(problem)};
  }

 private:
  // Everything that is no directory must turn out to be a readable regular file: what a listing leaves out, a
  // restore of the whole tree would leave out too, and call itself complete.
  void walk(const fs::DirHandle& directory, const fs::RelPath& path, model::Listing& listing) {
    for (const auto& name : directory.list()) {
      stop_.throw_if_requested();
      const fs::RelPath entry = path / fs::RelPath::require(name, "file name in " + tree_.name());
      const auto facts = tree_.root().stat(entry);
      if (!facts) continue;  // removed meanwhile
      if (facts->type == fs::FileType::dir) {
        const auto below = is_bookkeeping(entry) ? std::nullopt : tree_.root().open_dir_if_there(entry);
        if (below) walk(*below, entry, listing);
      } else if (facts->type == fs::FileType::file) {
        listing.push_back({.path = entry.str(), .size = facts->size});
      } else if (const auto file = tree_.open(entry)) {
        listing.push_back({.path = entry.str(), .size = file->size});
      } else {
        throw Error{Problem{
            .kind = ErrorKind::access,
            .thing =
                fmt::format("{} in {} is no file of a repo", escape_for_display(entry.str()), tree_.name()),
            .expected = "regular files, links to regular files, and real directories",
            .found = facts->type == fs::FileType::symlink ? "a link to nothing or to a directory"
                                                          : "a special file",
            .hint = "copy the repo again with its links resolved, or remove this entry"}};
      }
    }
  }

  std::string read_whole(const OpenFile& file, const fs::RelPath& path) const {
    std::string content(static_cast<std::size_t>(file.size), '\0');
    std::size_t have = 0;
    while (have < content.size()) {
      stop_.throw_if_requested();
      const ssize_t got = ::pread(file.fd.get(), content.data() + have,
                                  std::min(content.size() - have, k_piece), static_cast<off_t>(have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw_errno(errno, "read", tree_.root().path_of(path));
      if (got == 0) break;
      have += static_cast<std::size_t>(got);
    }
    content.resize(have);
    return content;
  }

  void check_digest(const std::string& content, const fs::RelPath& path, const hash::Digest& expected) const {
    hash::Hasher hasher{expected.algorithm(), content.size()};
    hasher.update(as_bytes(content));
    const hash::Digest found = hasher.finish();
    if (found == expected) return;
    throw Error{Problem{
        .kind = ErrorKind::integrity,
        .thing = fmt::format("{} in {} has other content", escape_for_display(path.str()), tree_.name()),
        .expected = fmt::format("{} {}", hash::to_string(expected.algorithm()), expected.hex()),
        .found = found.hex(),
        .hint = "copy this file again from where it came, then run the same command again"}};
  }

  Tree tree_;
  DirectorySource source_;
  const Stop& stop_;
};

[[noreturn]] void throw_no_directory(const std::string& path, std::string_view found) {
  throw Error{Problem{.kind = ErrorKind::access,
                      .thing = fmt::format("{} cannot be used as a source", escape_for_display(path)),
                      .expected = "a directory that holds a copy of the repo",
                      .found = std::string{found},
                      .hint = "check the path, and that the file system it is on is mounted"}};
}

}  // namespace

std::unique_ptr<Repository> open_directory(const std::string& path, const Stop& stop) {
  std::optional<fs::DirHandle> root;
  try {
    root = fs::DirHandle::open_if_there(path);
  } catch (const Error& error) {
    throw_no_directory(path, error.problem().thing);
  }
  if (!root) throw_no_directory(path, "nothing");
  return std::make_unique<DirectoryRepository>(std::move(*root), "dir:" + escape_for_display(path), stop);
}

}  // namespace decant::source
