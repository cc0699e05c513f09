// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "decant/fs/read.hpp"
#include "decant/hash/hasher.hpp"
#include "decant/source/store.hpp"
#include "support/catch.hpp"
#include "support/temp_dir.hpp"

using namespace decant;
using namespace decant::source;
using decant::test::TempDir;
using decant::test::write_file;

namespace {

namespace stdfs = std::filesystem;

const std::string k_content = "the content of an object";

hash::Digest git_id() {
  hash::Hasher hasher{hash::Algorithm::git_sha1, k_content.size()};
  hasher.update(as_bytes(k_content));
  return hasher.finish();
}

Object object(const hash::Digest& digest = hash::sha256(k_content),
              const std::string& path = "data/part.tar") {
  return {.path = fs::RelPath::require(path, "test"), .size = k_content.size(), .digest = digest};
}

std::string bytes_of(const std::string& path, const Object& object) {
  const auto store = open_store(path, "dir:" + path);
  const auto fd = store->open_in_place(object);
  if (!fd) return "none";
  std::string text(100, '\0');
  text.resize(fs::pread_all(fd->get(), {reinterpret_cast<std::byte*>(text.data()), text.size()}, 0, "test"));
  return text;
}

const std::string k_hex = hash::sha256(k_content).hex();
const std::string k_commit(40, 'c');

}  // namespace

TEST_CASE("an object is found in whatever layout a directory has") {
  TempDir dir;
  struct Row {
    const char* name;
    std::string file;
    hash::Digest digest;
  };
  const auto sha = hash::sha256(k_content);
  const std::vector<Row> rows{
      {"a decant cache", "sha256/" + k_hex.substr(0, 2) + "/" + k_hex, sha},
      {"a decant cache, git", "git-sha1/" + git_id().hex().substr(0, 2) + "/" + git_id().hex(), git_id()},
      {"a repo tree", "data/part.tar", sha},
      {"a Hugging Face cache", "datasets--a--b/blobs/" + k_hex, sha},
      {"a Hugging Face cache, git", "models--a--b/blobs/" + git_id().hex(), git_id()},
      {"HF_HOME", "hub/models--other--repo/blobs/" + k_hex, sha},
      {"one repo of a cache", "blobs/" + k_hex, sha},
      {"a snapshot without links", "datasets--a--b/snapshots/" + k_commit + "/data/part.tar", sha},
  };
  for (const auto& row : rows) {
    CAPTURE(row.name);
    TempDir place;
    write_file(place / row.file, k_content);
    CHECK(bytes_of(place.path(), object(row.digest)) == k_content);
    write_file(place / row.file, k_content + " and more");
    CHECK(bytes_of(place.path(), object(row.digest)) == "none");
  }
}

TEST_CASE("a snapshot's link is followed inside its repo, and nowhere else") {
  TempDir dir;
  const std::string repo = dir / "hub/datasets--a--b";
  const std::string snapshot = repo + "/snapshots/" + k_commit;
  write_file(repo + "/blobs/some-tag", k_content);
  write_file(dir / "outside", k_content);
  stdfs::create_directories(snapshot + "/data");
  const auto link = [&](const std::string& target) {
    stdfs::create_symlink(target, snapshot + "/data/part.tar");
  };
  SECTION("to a blob") {
    link("../../../blobs/some-tag");
    CHECK(bytes_of(dir.path(), object()) == k_content);
    CHECK(bytes_of(dir / "hub", object()) == k_content);
    CHECK(bytes_of(repo, object()) == k_content);
    CHECK(bytes_of(snapshot, object()) == k_content);
  }
  SECTION("to a blob, absolute") {
    link(stdfs::canonical(repo).string() + "/blobs/some-tag");
    CHECK(bytes_of(dir.path(), object()) == k_content);
  }
  SECTION("out of the repo") {
    link("../../../../../outside");
    CHECK(bytes_of(dir.path(), object()) == "none");
  }
  SECTION("out of the repo, absolute") {
    link(dir / "outside");
    CHECK(bytes_of(dir.path(), object()) == "none");
  }
  SECTION("to nothing, to itself, to a directory") {
    link("part.tar");
    CHECK(bytes_of(dir.path(), object()) == "none");
    stdfs::remove(snapshot + "/data/part.tar");
    link("../../../blobs");
    CHECK(bytes_of(dir.path(), object()) == "none");
  }
}

TEST_CASE("no link, pipe or bookkeeping of a plain tree is an object") {
  TempDir dir;
  write_file(dir / "real", k_content);
  SECTION("a link") {
    stdfs::create_directories(dir / "data");
    stdfs::create_symlink("../real", dir / "data/part.tar");
    CHECK(bytes_of(dir.path(), object()) == "none");
  }
  SECTION("a pipe") {
    stdfs::create_directories(dir / "data");
    REQUIRE(::mkfifo((dir / "data/part.tar").c_str(), 0600) == 0);
    CHECK(bytes_of(dir.path(), object()) == "none");
  }
  SECTION("what hf download keeps for itself") {
    write_file(dir / ".cache/huggingface/download/x", k_content);
    CHECK(bytes_of(dir.path(), object(hash::sha256(k_content), ".cache/huggingface/download/x")) == "none");
    CHECK(bytes_of(dir.path(), object(hash::sha256(k_content), "real")) == k_content);
  }
}

TEST_CASE("a store reads ranges, and says quietly what it has not") {
  struct TextSink final : ByteSink {
    void write(Bytes bytes) override { text += as_text(bytes); }
    std::string text;
  } sink;
  TempDir dir;
  write_file(dir / "data/part.tar", k_content);
  const Stop stop;
  const auto store = open_store(dir.path(), "dir:x");
  CHECK(store->name() == "dir:x");
  CHECK(store->is_local());
  CHECK(store->read(object(), {4, 7}, sink, stop).end == ReadEnd::complete);
  CHECK(sink.text == k_content.substr(4, 7));
  CHECK(store->read(object(hash::sha256("y"), "nothing"), {0, 1}, sink, stop).end == ReadEnd::absent);
}

TEST_CASE("what is no directory is no store") {
  TempDir dir;
  write_file(dir / "file", "x");
  for (const std::string& path : {dir / "nothing", dir / "file"}) {
    try {
      open_store(path, "dir:" + path);
      FAIL("it was opened");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(error.problem().thing.find(path) != std::string::npos);
    }
  }
}

TEST_CASE("reading a store leaves it as it was") {
  TempDir dir;
  write_file(dir / "hub/datasets--a--b/blobs/" + k_hex, k_content);
  write_file(dir / "data/part.tar", k_content);
  const auto before = test::snapshot(dir.path());
  CHECK(bytes_of(dir.path(), object()) == k_content);
  CHECK(test::snapshot(dir.path()) == before);
}
