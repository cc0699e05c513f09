// SPDX-License-Identifier: Apache-2.0
#include "decant/fs/dir_handle.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "helpers.hpp"

namespace {

using namespace decant::fs;
using namespace decant::fs::test;
using decant::ErrorKind;
using Names = std::vector<std::string>;

// outside/secret, and in root: dir/file, into -> ../outside, file_link -> dir/file, loop -> loop, fifo,
// socket.
struct Tree {
  TempDir base;
  std::string root_path = base / "root";

  Tree() {
    write_file(base / "outside/secret", "secret");
    write_file(root_path + "/dir/file", "content");
    REQUIRE(::symlink("../outside", (root_path + "/into").c_str()) == 0);
    REQUIRE(::symlink("dir/file", (root_path + "/file_link").c_str()) == 0);
    REQUIRE(::symlink("dir", (root_path + "/dir_link").c_str()) == 0);
    REQUIRE(::symlink("loop", (root_path + "/loop").c_str()) == 0);
    REQUIRE(::mkfifo((root_path + "/fifo").c_str(), 0600) == 0);
    const decant::Fd socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = root_path + "/socket";
    REQUIRE(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  }
  DirHandle open() const { return DirHandle::open(root_path, Missing::is_error); }
};

std::string content_of(const decant::Fd& fd) {
  std::string content(100, '\0');
  const ssize_t size = ::pread(fd.get(), content.data(), content.size(), 0);
  content.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return content;
}

TEST_CASE("a chosen directory is opened through its links and made when asked") {
  const TempDir dir;
  CHECK_FALSE(DirHandle::open_if_there(dir / "a").has_value());
  CHECK_THROWS_AS(DirHandle::open(dir / "a/b", Missing::is_error), decant::Error);
  DirHandle::open(dir / "a/b//c/", Missing::create);
  CHECK(exists(dir / "a/b/c"));
  DirHandle::open(dir / "a/b/c", Missing::create);
  REQUIRE(::symlink("a/b", (dir / "link").c_str()) == 0);
  CHECK(DirHandle::open(dir / "link", Missing::is_error).list() == Names{"c"});
  DirHandle::open(dir / "link/c/d", Missing::create);
  CHECK(exists(dir / "a/b/c/d"));

  write_file(dir / "file", "");
  CHECK_THROWS_AS(DirHandle::open(dir / "file", Missing::create), decant::Error);
  CHECK_THROWS_AS(DirHandle::open(dir / "file/x", Missing::create), decant::Error);
  CHECK_THROWS_AS(DirHandle::open_if_there(dir / "file"), decant::Error);
  CHECK_THROWS_AS(DirHandle::open("", Missing::create), decant::Error);
}

TEST_CASE("a link in the way is never followed") {
  const EitherWay way;
  const Tree tree;
  const DirHandle root = tree.open();
  const auto before = snapshot(tree.base.path());

  CHECK_FALSE(root.open_dir_if_there(rel("into")).has_value());
  CHECK_FALSE(root.stat(rel("into/secret")).has_value());
  CHECK_FALSE(root.open_file_if_there(rel("into/secret")).has_value());
  CHECK_FALSE(root.open_file_if_there(rel("dir_link/file")).has_value());
  CHECK_FALSE(root.open_file_if_there(rel("file_link")).has_value());
  CHECK_FALSE(root.open_for_update(rel("file_link")).has_value());
  CHECK_FALSE(root.read_small_file(rel("into/secret"), 100).has_value());
  CHECK_FALSE(root.open_dir_if_there(rel("loop/x")).has_value());
  CHECK_THROWS_AS(root.open_dir(rel("into")), decant::Error);
  CHECK_THROWS_AS(root.create_file(rel("into/new"), 0644), decant::Error);
  CHECK_THROWS_AS(root.make_dir(rel("into/new"), 0755), decant::Error);
  CHECK_THROWS_AS(root.write_file_atomically(rel("into/secret"), "x"), decant::Error);
  CHECK_THROWS_AS(root.rename(rel("dir/file"), root, rel("into/secret")), decant::Error);
  CHECK_THROWS_AS(root.rename(rel("into/secret"), root, rel("got")), decant::Error);
  CHECK_THROWS_AS(root.rename_noreplace(rel("dir/file"), root, rel("into/new")), decant::Error);
  CHECK(error_of([&] { root.make_dirs(rel("into/new")); }).kind() == ErrorKind::conflict);
  CHECK(error_of([&] { root.make_dirs(rel("dir_link")); }).kind() == ErrorKind::conflict);
  root.remove_file(rel("into/secret"));
  root.remove_tree(rel("into/secret"));
  CHECK_FALSE(root.create_file(rel("file_link"), 0644).has_value());
  CHECK(snapshot(tree.base.path()) == before);
}

TEST_CASE("stat tells what is there, of the link itself too") {
  const EitherWay way;
  const Tree tree;
  const DirHandle root = tree.open();
  REQUIRE(::chmod((tree.root_path + "/dir/file").c_str(), 0754) == 0);
  const auto file = root.stat(rel("dir/file"));
  REQUIRE(file.has_value());
  CHECK(file->type == FileType::file);
  CHECK(file->mode == 0754);
  CHECK(file->owner_executable());
  CHECK(file->size == 7);
  CHECK(file->nlink == 1);
  CHECK(file->uid == ::geteuid());
  CHECK(root.stat(rel("dir"))->type == FileType::dir);
  CHECK(root.stat(rel("file_link"))->type == FileType::symlink);
  CHECK(root.stat(rel("fifo"))->type == FileType::other);
  CHECK(root.stat(RelPath{})->type == FileType::dir);
  for (const char* missing : {"none", "none/x", "dir/file/x", "loop/x"}) {
    INFO(missing);
    CHECK_FALSE(root.stat(rel(missing)).has_value());
  }
  const auto fd = root.open_file(rel("dir/file"));
  CHECK(stamp_of(facts_of(fd.get())) == stamp_of(*file));
  write_file(tree.root_path + "/dir/file", "longer content");
  CHECK_FALSE(stamp_of(*root.stat(rel("dir/file"))) == stamp_of(*file));
}

TEST_CASE("only regular files are opened, and nothing hangs") {
  const EitherWay way;
  const Tree tree;
  const DirHandle root = tree.open();
  EntryFacts facts;
  const auto fd = root.open_file_if_there(rel("dir/file"), &facts);
  REQUIRE(fd.has_value());
  CHECK(content_of(*fd) == "content");
  CHECK(facts.size == 7);
  for (const char* other : {"fifo", "socket", "dir", "none", "dir/file/x"}) {
    INFO(other);
    CHECK_FALSE(root.open_file_if_there(rel(other)).has_value());
    CHECK_FALSE(root.open_for_update(rel(other)).has_value());
  }
  CHECK_FALSE(root.open_file_if_there(RelPath{}).has_value());
  CHECK_THAT(error_of([&] { root.open_file(rel("fifo")); }).what(), Catch::Contains("no regular file"));
  CHECK_THAT(error_of([&] { root.open_file(rel("dir/none")); }).what(),
             Catch::Contains("root/dir/none: no such file"));
  const auto update = root.open_for_update(rel("dir/file"));
  REQUIRE(update.has_value());
  CHECK(::pwrite(update->get(), "C", 1, 0) == 1);
  CHECK(content_of(*update) == "Content");
}

TEST_CASE("directories list again and again, by bytes, whoever shares them") {
  const EitherWay way;
  const TempDir dir;
  for (const char* name : {"b", "a", "\xFF", "B", ".hidden"}) write_file(dir / name, "");
  const DirHandle root = open_root(dir);
  const Names expected{".hidden", "B", "a", "b", "\xFF"};
  CHECK(root.list() == expected);
  CHECK(root.list() == expected);
  CHECK(root.duplicate().list() == expected);
  CHECK(root.open_dir(RelPath{}).list() == expected);
}

TEST_CASE("handles below know their whole path") {
  const EitherWay way;
  const Tree tree;
  const DirHandle root = tree.open();
  CHECK(root.path_of(RelPath{}) == tree.root_path);
  CHECK(root.open_dir(rel("dir")).path_of(rel("x")) == tree.root_path + "/dir/x");
  CHECK(DirHandle::open("/", Missing::is_error).path_of(rel("x")) == "/x");
  CHECK(root.open_dir_if_there(rel("dir/file")) == std::nullopt);
}

TEST_CASE("links are read as they are") {
  const EitherWay way;
  const Tree tree;
  const DirHandle root = tree.open();
  CHECK(root.read_link(rel("into")) == "../outside");
  for (const char* none : {"dir", "dir/file", "none", "into/secret", "none/x"}) {
    INFO(none);
    CHECK_FALSE(root.read_link(rel(none)).has_value());
  }
}

TEST_CASE("small files are read whole, up to a limit") {
  const EitherWay way;
  const TempDir dir;
  const DirHandle root = open_root(dir);
  for (const std::size_t size : {0U, 1U, 4096U, 10'000U}) {
    const std::string bytes = decant::test::random_bytes(size, size);
    write_file(dir / "f", bytes);
    CHECK(root.read_small_file(rel("f"), size) == bytes);
    CHECK(root.read_small_file(rel("f"), 1'000'000) == bytes);
    if (size > 0)
      CHECK(error_of([&] { root.read_small_file(rel("f"), size - 1); }).kind() == ErrorKind::state);
  }
  CHECK_FALSE(root.read_small_file(rel("none"), 10).has_value());
}

TEST_CASE("a file that tells no size is read to its end, and not beyond the limit") {
  const DirHandle proc = DirHandle::open("/proc/self", Missing::is_error);
  CHECK(proc.read_small_file(rel("status"), 100'000)->size() > 100);
  CHECK(error_of([&] { proc.read_small_file(rel("status"), 10); }).kind() == ErrorKind::state);
}

TEST_CASE("nobody who swaps a directory for a link leads us out") {
  const EitherWay way;
  const Tree tree;
  const DirHandle root = tree.open();
  root.make_dir(rel("real"), 0755);
  write_file(tree.root_path + "/real/secret", "inside");
  REQUIRE(::symlink("../outside", (tree.root_path + "/trap").c_str()) == 0);
  std::atomic<bool> stop{false};
  std::thread swapping{[&] {
    const int fd = root.fd();
    while (!stop) {
      ::renameat2(fd, "real", fd, "trap", RENAME_EXCHANGE);
    }
  }};
  int opened = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (const auto fd = root.open_file_if_there(rel("real/secret"))) {
      ++opened;
      if (content_of(*fd) != "inside") FAIL("led outside");
    }
  }
  stop = true;
  swapping.join();
  CHECK(opened > 0);
}

TEST_CASE("a directory that may not be searched is an error, not a missing file") {
  if (skipped_as_root()) return;
  const Tree tree;
  const DirHandle root = tree.open();
  REQUIRE(::chmod((tree.root_path + "/dir").c_str(), 0) == 0);
  CHECK_THAT(error_of([&] { root.stat(rel("dir/file")); }).what(), Catch::Contains("permission denied"));
  CHECK_THAT(error_of([&] { root.open_file_if_there(rel("dir/file")); }).what(),
             Catch::Contains("permission denied"));
}

}  // namespace
