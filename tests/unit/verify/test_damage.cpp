// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <thread>

#include "decant/hash/hasher.hpp"
#include "helpers.hpp"

using namespace decant;
using namespace decant::test;
using Labels = std::vector<std::string>;

namespace {

void flip_byte(const std::string& path, std::size_t at) {
  std::string content = read_file(path);
  content[at] = static_cast<char>(content[at] ^ 1);
  const auto time = std::filesystem::last_write_time(path);
  write_file(path, content);
  std::filesystem::last_write_time(path, time);
}

struct Damage {
  const char* name;
  std::function<void(const std::string& root)> make;
  Labels findings;
};

const std::vector<Damage> k_damages{
    {"nothing", [](const std::string&) {}, {}},
    {"a flipped bit under the same size and time",
     [](const std::string& r) { flip_byte(r + "/data/a.bin", 2999); },
     {"differs bundle:data/a.bin"}},
    {"a cut file",
     [](const std::string& r) { std::filesystem::resize_file(r + "/data/a.bin", 2999); },
     {"truncated bundle:data/a.bin"}},
    {"an emptied file",
     [](const std::string& r) { std::filesystem::resize_file(r + "/data/sub/b.bin", 0); },
     {"truncated bundle:data/sub/b.bin"}},
    {"a longer file",
     [](const std::string& r) { std::filesystem::resize_file(r + "/data/empty", 1); },
     {"longer bundle:data/empty"}},
    {"a removed file",
     [](const std::string& r) { std::filesystem::remove(r + "/data/a.bin"); },
     {"missing bundle:data/a.bin"}},
    {"a removed directory",
     [](const std::string& r) { std::filesystem::remove_all(r + "/data/sub"); },
     {"missing bundle:data/sub", "missing bundle:data/sub/b.bin"}},
    {"an empty directory gone",
     [](const std::string& r) { std::filesystem::remove(r + "/data/nothing"); },
     {"missing bundle:data/nothing"}},
    {"a directory where a file was",
     [](const std::string& r) {
       std::filesystem::remove(r + "/data/a.bin");
       std::filesystem::create_directory(r + "/data/a.bin");
     },
     {"wrong-type bundle:data/a.bin"}},
    {"a pipe where a file was",
     [](const std::string& r) {
       std::filesystem::remove(r + "/data/a.bin");
       REQUIRE(::mkfifo((r + "/data/a.bin").c_str(), 0644) == 0);
     },
     {"wrong-type bundle:data/a.bin"}},
    {"a link to the very bytes where a file was",
     [](const std::string& r) {
       std::filesystem::rename(r + "/data/a.bin", r + "/elsewhere");
       std::filesystem::create_symlink("../elsewhere", r + "/data/a.bin");
     },
     {"wrong-type bundle:data/a.bin"}},
    {"a link to a directory of the very content where a directory was",
     [](const std::string& r) {
       std::filesystem::rename(r + "/data/sub", r + "/elsewhere");
       std::filesystem::create_symlink("../elsewhere", r + "/data/sub");
     },
     {"missing bundle:data/sub/b.bin", "wrong-type bundle:data/sub"}},
    {"a lost x bit",
     [](const std::string& r) { ::chmod((r + "/bin/run").c_str(), 0644); },
     {"mode bundle:bin/run"}},
    {"an x bit too many",
     [](const std::string& r) { ::chmod((r + "/data/a.bin").c_str(), 0744); },
     {"mode bundle:data/a.bin"}},
    {"other mode bits are not content",
     [](const std::string& r) { ::chmod((r + "/data/a.bin").c_str(), 0600); },
     {}},
    {"a link that leads elsewhere",
     [](const std::string& r) {
       std::filesystem::remove(r + "/latest");
       std::filesystem::create_symlink("data/empty", r + "/latest");
     },
     {"link-target bundle:latest"}},
    {"a file where a link was",
     [](const std::string& r) {
       std::filesystem::remove(r + "/latest");
       write_file(r + "/latest", "data/a.bin");
     },
     {"wrong-type bundle:latest"}},
    {"two damages in one file",
     [](const std::string& r) {
       ::chmod((r + "/bin/run").c_str(), 0644);
       flip_byte(r + "/bin/run", 0);
     },
     {"differs bundle:bin/run", "mode bundle:bin/run"}},
};

}  // namespace

TEST_CASE("each damage is exactly its finding") {
  for (const Damage& damage : k_damages) {
    DYNAMIC_SECTION(damage.name) {
      const TempDir dir;
      const verify::Tree tree = sample_tree(dir);
      const std::string whole = prove({tree}).digests.at(0).hex;
      damage.make(tree.path);
      const report::Result result = prove({tree});
      CHECK(labels(result) == damage.findings);
      CHECK((result.digests.at(0).hex == whole) == damage.findings.empty());
    }
  }
}

TEST_CASE("a finding names the part, what was expected and what was found") {
  const TempDir dir;
  const verify::Tree tree = sample_tree(dir);
  flip_byte(tree.path + "/data/a.bin", 0);
  std::filesystem::resize_file(tree.path + "/data/sub/b.bin", 99);
  const report::Result result = prove({tree});
  REQUIRE(result.findings.size() == 2);
  CHECK(result.findings[0].part == "data");
  CHECK(result.findings[0].expected == "sha256 " + hash::sha256(random_bytes(1, 3000)).hex());
  CHECK(result.findings[0].found == "sha256 " + hash::sha256(read_file(tree.path + "/data/a.bin")).hex());
  CHECK(result.findings[1].expected == "100 bytes");
  CHECK(result.findings[1].found == "99 bytes");
}

TEST_CASE("what stands in a file's place is named") {
  const TempDir dir;
  const verify::Tree tree = sample_tree(dir);
  const std::string oid = hash::sha256(random_bytes(1, 3000)).hex();
  write_file(tree.path + "/data/a.bin",
             "version https://git-lfs.github.com/spec/v1\noid sha256:" + oid + "\nsize 3000\n");
  write_file(tree.path + "/data/sub/b.bin", "\n<!DOCTYPE html><html>Sign in</html>");
  std::filesystem::resize_file(tree.path + "/bin/run", 0);
  const report::Result result = prove({tree});
  REQUIRE(result.findings.size() == 3);
  CHECK(result.findings[0].note == "the file is empty");
  CHECK(result.findings[1].note == "a git-lfs pointer stands in its place; its oid is the expected digest");
  CHECK(result.findings[2].note == "an HTML page stands in its place");
}

TEST_CASE("a tree that is not there is one finding, and its digest says so") {
  const TempDir dir;
  verify::Tree tree = sample_tree(dir);
  const std::string whole = prove({tree}).digests.at(0).hex;
  SECTION("nothing there") {
    tree.path = dir / "elsewhere";
  }
  SECTION("a file there") {
    tree.path += "/data/a.bin";
  }
  SECTION("below a file") {
    tree.path += "/data/a.bin/deeper";
  }
  const report::Result result = prove({tree});
  CHECK(labels(result) == Labels{"tree-missing bundle:"});
  CHECK(result.digests.at(0).hex != whole);
  CHECK(result.trees.at("bundle").hashed == 0);
}

TEST_CASE("a file that may not be read could not be checked") {
  if (::geteuid() == 0) return;  // root reads everything; scripts/test.sh runs this as an ordinary user too
  const TempDir dir;
  const verify::Tree tree = sample_tree(dir);
  ::chmod((tree.path + "/data/a.bin").c_str(), 0);
  ::chmod((tree.path + "/data/sub").c_str(), 0);
  const report::Result result = prove({tree});
  ::chmod((tree.path + "/data/sub").c_str(), 0755);
  CHECK(labels(result) == Labels{"unreadable bundle:data/a.bin", "unreadable bundle:data/sub"});
}

TEST_CASE("a file without a digest is unverifiable, once for its part") {
  const TempDir dir;
  verify::Tree tree = sample_tree(dir);
  entry_of(tree, "data/a.bin").digest = {};
  SECTION("one file is named") {
    CHECK(labels(prove({tree})) == Labels{"unverifiable bundle:data/a.bin"});
  }
  SECTION("several are counted") {
    entry_of(tree, "data/sub/b.bin").digest = {};
    const report::Result result = prove({tree});
    CHECK(labels(result) == Labels{"unverifiable bundle:"});
    CHECK(result.findings[0].found == "2 files");
    CHECK(result.trees.at("bundle").hashed == 4);
  }
}

TEST_CASE("a git blob id is checked, and the digest text holds the SHA-256 all the same") {
  const TempDir dir;
  verify::Tree tree = sample_tree(dir);
  const std::string whole = prove({tree}).digests.at(0).hex;
  const std::string content = read_file(tree.path + "/data/a.bin");
  hash::Hasher git{hash::Algorithm::git_sha1, content.size()};
  git.update(as_bytes(content));
  entry_of(tree, "data/a.bin").digest = git.finish();

  CHECK(prove({tree}).findings.empty());
  CHECK(prove({tree}).digests.at(0).hex == whole);
  flip_byte(tree.path + "/data/a.bin", 5);
  const report::Result result = prove({tree});
  CHECK(labels(result) == Labels{"differs bundle:data/a.bin"});
  CHECK(result.findings[0].expected.starts_with("git-sha1 "));
}

TEST_CASE("a file that changes while it is read is unstable, never good") {
  const TempDir dir;
  const std::string root = dir / "root";
  write_file(root + "/big", random_bytes(3, 40'000'000));
  const verify::Tree tree{.name = "bundle", .path = root, .entries = expect_directory(root)};
  std::atomic<bool> done{false};
  // Appends and cuts again: the size is right most of the time.
  std::jthread writer{[&] {
    const int fd = ::open((root + "/big").c_str(), O_WRONLY | O_APPEND);
    while (!done) {
      (void)!::write(fd, "x", 1);
      (void)!::ftruncate(fd, 40'000'000);
    }
    ::close(fd);
  }};
  const report::Result result = prove({tree});
  done = true;
  REQUIRE(result.findings.size() == 1);
  const auto kind = result.findings[0].kind;
  CHECK((kind == report::FindingKind::unstable || kind == report::FindingKind::longer));
  CHECK_FALSE(result.digests.at(0).full);
}

TEST_CASE("verify changes nothing") {
  const TempDir dir;
  const verify::Tree tree = sample_tree(dir);
  const auto before = snapshot(tree.path);
  prove({tree});
  CHECK(snapshot(tree.path) == before);
}
