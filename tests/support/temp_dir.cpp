// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "decant/fs/dir_handle.hpp"
#include "decant/hash/hasher.hpp"

namespace decant::test {
namespace {

std::string link_target(const std::string& path) {
  std::string target(4096, '\0');
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  if (size < 0) return "?";
  target.resize(static_cast<std::size_t>(size));
  return target;
}

std::string content_digest(const std::string& path, std::uint64_t size) {
  const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
  if (!fd) return "unreadable";
  return hash::hash_file(fd.get(), size, hash::Algorithm::sha256, path).hex();
}

std::string describe(const std::string& path, const struct stat& st) {
  const std::string common = fmt::format("{:04o} mtime {}", st.st_mode & 07777, st.st_mtim.tv_sec);
  if (S_ISDIR(st.st_mode)) return "dir " + common;
  if (S_ISLNK(st.st_mode)) return fmt::format("link {} -> {}", common, link_target(path));
  if (!S_ISREG(st.st_mode)) return "other " + common;
  const auto size = static_cast<std::uint64_t>(st.st_size);
  return fmt::format("file {} size {} sha256 {}", common, size, content_digest(path, size));
}

void add_below(const std::string& directory, const std::string& prefix,
               std::map<std::string, std::string>& tree) {
  for (const std::string& name : fs::DirHandle::open(directory, fs::Missing::is_error).list()) {
    const std::string path = fmt::format("{}/{}", directory, name);
    struct stat st {};
    if (::lstat(path.c_str(), &st) != 0) throw std::runtime_error{"cannot examine " + path};
    tree[prefix + name] = describe(path, st);
    if (S_ISDIR(st.st_mode)) add_below(path, prefix + name + "/", tree);
  }
}

}  // namespace

TempDir::TempDir() {
  const char* base = std::getenv("TMPDIR");
  std::string name = fmt::format("{}/decant-test-XXXXXX", base != nullptr && *base != '\0' ? base : "/tmp");
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"cannot make " + name};
  path_ = name;
}

TempDir::~TempDir() {
  if (std::getenv("DECANT_TEST_KEEP") != nullptr) {
    fmt::print(stderr, "kept {}\n", path_);
    return;
  }
  try {
    const std::filesystem::path whole{path_};
    fs::DirHandle::open(whole.parent_path(), fs::Missing::is_error)
        .remove_tree(fs::RelPath::require(whole.filename().string(), "temporary directory"));
  } catch (const std::exception& error) {
    fmt::print(stderr, "cannot remove {}: {}\n", path_, error.what());
  }
}

std::string TempDir::operator/(std::string_view below) const {
  return fmt::format("{}/{}", path_, below);
}

void write_file(const std::string& path, std::string_view content) {
  std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
  std::ofstream out{path, std::ios::binary | std::ios::trunc};
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  out.close();
  if (!out) throw std::runtime_error{"cannot write " + path};
}

std::string read_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  if (!in) throw std::runtime_error{"cannot read " + path};
  std::ostringstream content;
  content << in.rdbuf();
  return std::move(content).str();
}

bool exists(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0;
}

// splitmix64.
std::string random_bytes(std::uint64_t seed, std::size_t size) {
  std::string bytes(size, '\0');
  std::uint64_t state = seed;
  for (std::size_t i = 0; i < size; i += 8) {
    state += 0x9E3779B97F4A7C15U;
    std::uint64_t word = state;
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9U;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBU;
    word ^= word >> 31;
    for (std::size_t k = 0; k < 8 && i + k < size; ++k)
      bytes[i + k] = static_cast<char>(word >> (8 * k) & 0xFF);
  }
  return bytes;
}

std::map<std::string, std::string> snapshot(const std::string& directory) {
  std::map<std::string, std::string> tree;
  add_below(directory, "", tree);
  return tree;
}

}  // namespace decant::test
