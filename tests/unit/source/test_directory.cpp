// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "decant/hash/hasher.hpp"
#include "decant/source/source.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

using namespace decant;
using namespace decant::source;
using decant::test::TempDir;
using decant::test::write_file;

namespace {

struct TextSink final : ByteSink {
  void write(Bytes bytes) override { text += as_text(bytes); }
  std::string text;
};

struct Fixture {
  std::unique_ptr<Repository> open() { return open_directory(dir.path(), stop); }
  Object object(const std::string& path, std::string_view content) {
    return {
        .path = fs::RelPath::require(path, "test"), .size = content.size(), .digest = hash::sha256(content)};
  }
  TempDir dir;
  Stop stop;
};

std::vector<std::string> paths(const model::Listing& listing) {
  std::vector<std::string> result;
  for (const auto& file : listing) result.push_back(file.path);
  return result;
}

template <class Fn>
Problem problem_of(Fn&& fn) {
  try {
    fn();
  } catch (const Error& error) {
    return error.problem();
  }
  FAIL("no Error");
  return {};
}

using Paths = std::vector<std::string>;

}  // namespace

TEST_CASE("a directory says what it is") {
  Fixture f;
  const auto repository = f.open();
  CHECK(repository->kind() == model::SourceKind::directory);
  CHECK(repository->describe() == "dir:" + f.dir.path());
  CHECK(repository->objects().name() == "dir:" + f.dir.path());
  CHECK(repository->resolve("main").commit.empty());
  repository->pin({});
  CHECK(repository->lock_source().kind == model::SourceKind::directory);
  CHECK(repository->lock_source().commit.empty());
}

TEST_CASE("what is no directory is refused in words") {
  Fixture f;
  write_file(f.dir / "file", "x");
  for (const std::string& path : {f.dir / "nowhere", f.dir / "file", f.dir / "file/below", std::string{}}) {
    INFO(path);
    const Problem problem = problem_of([&] { open_directory(path, f.stop); });
    CHECK(problem.kind == ErrorKind::access);
    CHECK_FALSE(problem.hint.empty());
  }
}

TEST_CASE("all files are listed in order, bookkeeping of tools is not") {
  Fixture f;
  write_file(f.dir / "b", "22");
  write_file(f.dir / "a/x", "1");
  write_file(f.dir / "a/deep/er/y", "");
  write_file(f.dir / ".gitattributes", "z");
  write_file(f.dir / ".git/HEAD", "z");
  write_file(f.dir / ".cache/huggingface/download/b.metadata", "z");
  write_file(f.dir / ".cache/other", "z");
  write_file(f.dir / "a/.git/kept", "z");
  const auto repository = f.open();
  const auto listing = repository->list("");
  CHECK(paths(listing) == Paths{".cache/other", ".gitattributes", "a/.git/kept", "a/deep/er/y", "a/x", "b"});
  CHECK(listing.back().size == 2);
  CHECK_FALSE(listing.back().digest);
  CHECK(paths(repository->list("a")) == Paths{"a/.git/kept", "a/deep/er/y", "a/x"});
  CHECK(repository->list("nowhere").empty());
  CHECK(repository->list("b").empty());
  CHECK_THROWS_AS(repository->list("../x"), Error);
}

TEST_CASE("a snapshot of links to blobs is read, links to directories are not entered") {
  Fixture f;
  write_file(f.dir / "blobs/1234", "content");
  std::filesystem::create_directories(f.dir / "snap/sub");
  std::filesystem::create_symlink("../blobs/1234", f.dir / "snap/file");
  std::filesystem::create_symlink("../../blobs/1234", f.dir / "snap/sub/file");
  const auto repository = open_directory(f.dir / "snap", f.stop);
  CHECK(paths(repository->list("")) == Paths{"file", "sub/file"});
  CHECK(repository->paths_info({"sub/file"}).at(0).size == 7);
  CHECK(repository->read_file("file", 100, hash::sha256("content")) == "content");
  TextSink sink;
  const Object object = f.object("sub/file", "content");
  CHECK(repository->objects().read(object, {1, 3}, sink, f.stop).end == ReadEnd::complete);
  CHECK(sink.text == "ont");
  CHECK(repository->objects().open_in_place(object).has_value());
  repository->probe(object);

  SECTION("a link to a directory") {
    std::filesystem::create_directory_symlink("../blobs", f.dir / "snap/dir");
  }
  SECTION("a link to nothing") {
    std::filesystem::create_symlink("../blobs/5678", f.dir / "snap/dangling");
  }
  SECTION("a link to itself") {
    std::filesystem::create_symlink("loop", f.dir / "snap/loop");
  }
  SECTION("a pipe") {
    REQUIRE(::mkfifo((f.dir / "snap/pipe").c_str(), 0600) == 0);
  }
  SECTION("a link to a pipe") {
    REQUIRE(::mkfifo((f.dir / "pipe").c_str(), 0600) == 0);
    std::filesystem::create_symlink("../pipe", f.dir / "snap/linked");
  }
  CHECK(problem_of([&] { repository->list(""); }).kind == ErrorKind::access);
  for (const char* path :
       {"dir", "dir/1234", "dangling", "loop", "pipe", "linked", "../blobs/1234", "/etc/passwd"}) {
    INFO(path);
    CHECK_FALSE(repository->read_file(path, 100, std::nullopt));
    CHECK(repository->paths_info({path}).empty());
  }
}

TEST_CASE("facts are given for what is there") {
  Fixture f;
  write_file(f.dir / "a", "1");
  write_file(f.dir / "d/b", "22");
  const auto listing = f.open()->paths_info({"d/b", "nowhere", "d", "../x", "", "a"});
  CHECK(paths(listing) == Paths{"d/b", "a"});
  CHECK(listing[0].size == 2);
}

TEST_CASE("a small file is read whole and checked") {
  Fixture f;
  write_file(f.dir / "a", "hello");
  const auto repository = f.open();
  CHECK(repository->read_file("a", 5, std::nullopt) == "hello");
  CHECK(repository->read_file("a", 5, hash::sha256("hello")) == "hello");
  hash::Hasher hasher{hash::Algorithm::git_sha1, 5};
  hasher.update(as_bytes("hello"));
  CHECK(repository->read_file("a", 5, hasher.finish()) == "hello");
  CHECK_FALSE(repository->read_file("b", 5, std::nullopt));
  CHECK(problem_of([&] { repository->read_file("a", 4, std::nullopt); }).kind == ErrorKind::state);
  const Problem differs = problem_of([&] { repository->read_file("a", 5, hash::sha256("other")); });
  CHECK(differs.kind == ErrorKind::integrity);
  CHECK(differs.expected.find(hash::sha256("other").hex()) != std::string::npos);
  CHECK(differs.found == hash::sha256("hello").hex());
}

TEST_CASE("ranges are read in pieces") {
  Fixture f;
  const std::string content = test::random_bytes(3, 3'000'000);
  write_file(f.dir / "a", content);
  const auto repository = f.open();
  const Object object = f.object("a", content);
  for (const ByteRange range :
       {ByteRange{0, content.size()}, ByteRange{1, 2'500'000}, ByteRange{2'999'999, 1}, ByteRange{5, 0}}) {
    TextSink sink;
    const auto outcome = repository->objects().read(object, range, sink, f.stop);
    CHECK(outcome.end == ReadEnd::complete);
    CHECK(outcome.received == range.length);
    CHECK(sink.text == content.substr(range.offset, range.length));
  }
}

TEST_CASE("what is not the object is an outcome") {
  Fixture f;
  write_file(f.dir / "a", "hello");
  const auto repository = f.open();
  TextSink sink;
  const auto missing = repository->objects().read(f.object("b", "hello"), {0, 5}, sink, f.stop);
  CHECK(missing.end == ReadEnd::failed);
  CHECK(missing.problem.kind == ErrorKind::access);
  const auto longer = repository->objects().read(f.object("a", "hello you"), {0, 5}, sink, f.stop);
  CHECK(longer.end == ReadEnd::wrong_object);
  CHECK(longer.problem.kind == ErrorKind::integrity);
  CHECK(longer.problem.expected == "9 bytes");
  CHECK(longer.problem.found == "5 bytes");
  CHECK(sink.text.empty());
  CHECK_FALSE(repository->objects().open_in_place(f.object("b", "hello")));
  CHECK_FALSE(repository->objects().open_in_place(f.object("a", "hello you")));
  CHECK(repository->objects().read(f.object("b", ""), {0, 0}, sink, f.stop).end == ReadEnd::complete);
}

TEST_CASE("a file that shrinks while it is read is not the object") {
  Fixture f;
  const std::string content = test::random_bytes(3, 3'000'000);
  write_file(f.dir / "a", content);
  const auto repository = f.open();
  struct Cutting final : ByteSink {
    explicit Cutting(std::string file) : path{std::move(file)} {}
    void write(Bytes) override { REQUIRE(::truncate(path.c_str(), 1'100'000) == 0); }
    std::string path;
  } cutting{f.dir / "a"};
  const auto outcome =
      repository->objects().read(f.object("a", content), {0, content.size()}, cutting, f.stop);
  CHECK(outcome.end == ReadEnd::wrong_object);
  CHECK(outcome.received == 1'100'000);
  CHECK(outcome.problem.found == "1100000 bytes");
}

TEST_CASE("a file in place is open for reading only") {
  Fixture f;
  write_file(f.dir / "a", "hello");
  const auto fd = f.open()->objects().open_in_place(f.object("a", "hello"));
  REQUIRE(fd);
  char text[8] = {};
  CHECK(::pread(fd->get(), text, sizeof text, 0) == 5);
  CHECK(std::string{text} == "hello");
  CHECK(::write(fd->get(), "x", 1) == -1);
}

TEST_CASE("a probe says what is missing") {
  Fixture f;
  write_file(f.dir / "a", "hello");
  const auto repository = f.open();
  repository->probe(f.object("a", "hello"));
  CHECK(problem_of([&] { repository->probe(f.object("b", "hello")); }).kind == ErrorKind::access);
  const Problem size = problem_of([&] { repository->probe(f.object("a", "hell")); });
  CHECK(size.kind == ErrorKind::access);
  CHECK(size.expected == "4 bytes");
  CHECK(size.found == "5 bytes");
}

TEST_CASE("a file that may not be read is an outcome with its reason") {
  if (::geteuid() == 0) {
    WARN("skipped: root may read everything");
    return;
  }
  Fixture f;
  write_file(f.dir / "a", "hello");
  REQUIRE(::chmod((f.dir / "a").c_str(), 0) == 0);
  const auto repository = f.open();
  TextSink sink;
  const auto outcome = repository->objects().read(f.object("a", "hello"), {0, 5}, sink, f.stop);
  CHECK(outcome.end == ReadEnd::failed);
  CHECK(outcome.problem.thing.find("permission denied") != std::string::npos);
  CHECK_THROWS_AS(repository->probe(f.object("a", "hello")), Error);
}

TEST_CASE("a sink's exception and a stop request are passed on") {
  Fixture f;
  write_file(f.dir / "a", "hello");
  const auto repository = f.open();
  struct Throwing final : ByteSink {
    void write(Bytes) override { throw std::runtime_error{"disk full"}; }
  } throwing;
  CHECK_THROWS_WITH(repository->objects().read(f.object("a", "hello"), {0, 5}, throwing, f.stop),
                    "disk full");
  f.stop.request(SIGINT);
  TextSink sink;
  CHECK_THROWS_AS(repository->objects().read(f.object("a", "hello"), {0, 5}, sink, f.stop), Interrupted);
  CHECK_THROWS_AS(repository->list(""), Interrupted);
}

TEST_CASE("names are shown escaped") {
  Fixture f;
  std::filesystem::create_directory(f.dir / "evil\x1b[31m");
  const auto repository = open_directory(f.dir / "evil\x1b[31m", f.stop);
  CHECK(repository->describe().find('\x1b') == std::string::npos);
  const Problem problem = problem_of([&] { repository->probe(f.object("\x1b[31m", "x")); });
  CHECK(to_text(problem).find('\x1b') == std::string::npos);
}
