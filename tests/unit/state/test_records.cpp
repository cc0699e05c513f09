// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "state_support.hpp"

using namespace decant;
using namespace decant::state;
using namespace decant::state::test;

namespace {

constexpr const char* k_record_file = ".decant/parts/images_000.json";
constexpr const char* k_marks_file = ".decant/parts/images_000.a.marks";

// The text of a sealed record after an edit, sealed again.
std::string resealed(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) FAIL("not there: " << from);
  text.replace(at, from.size(), to);
  text.erase(text.size() - 64 - 3, 64);
  const std::string digest = hash::sha256(text).hex();
  return text.insert(text.size() - 3, digest);
}

}  // namespace

TEST_CASE("a part's record is read back with its marks") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  CHECK_FALSE(bundle.read_record("images_000", lock_of('1')));
  PartRecord record = sample_record();
  bundle.write_record(record, lock_of('1'));
  CHECK(bundle.read_record("images_000", lock_of('1')).value() == record);

  record.stage = Stage::published;
  record.marks.clear();
  bundle.write_record(record, lock_of('1'));
  CHECK(bundle.read_record("images_000", lock_of('1')).value() == record);
  CHECK_FALSE(exists(dir / k_marks_file));  // the old marks are gone
}

TEST_CASE("a record of another lock reads as absent") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  bundle.write_record(sample_record(), lock_of('1'));
  CHECK_FALSE(bundle.read_record("images_000", lock_of('2')));
}

TEST_CASE("a record that was copied from another part reads as absent") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  bundle.write_record(sample_record(), lock_of('1'));
  std::filesystem::copy(dir / k_record_file, dir / ".decant/parts/other.json");
  std::filesystem::copy(dir / k_marks_file, dir / ".decant/parts/other.a.marks");
  CHECK_FALSE(bundle.read_record("other", lock_of('1')));
}

TEST_CASE("a record that is cut, edited or no file reads as absent") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  bundle.write_record(sample_record(), lock_of('1'));
  const std::string path = dir / k_record_file;
  const std::string good = read_file(path);
  SECTION("empty") {
    write_file(path, "");
  }
  SECTION("cut") {
    write_file(path, good.substr(0, good.size() - 1));
  }
  SECTION("a byte flipped") {
    std::string bad = good;
    bad[30] = static_cast<char>(bad[30] ^ 1);
    write_file(path, bad);
  }
  SECTION("not JSON") {
    write_file(path, "hello\n");
  }
  SECTION("zeros") {
    write_file(path, std::string(good.size(), '\0'));
  }
  SECTION("too large") {
    write_file(path, std::string(17 << 20, ' ') + good);
  }
  SECTION("a newer schema") {
    write_file(path, resealed(good, "part-record/1", "part-record/2"));
  }
  SECTION("a duplicate key") {
    write_file(path, resealed(good, "\"stage\":\"staged\"", "\"stage\":\"staged\",\"stage\":\"published\""));
  }
  SECTION("an unknown stage") {
    write_file(path, resealed(good, "\"stage\":\"staged\"", "\"stage\":\"done\""));
  }
  SECTION("a missing key") {
    write_file(path, resealed(good, "\"published_before\":true,", ""));
  }
  SECTION("a negative count") {
    write_file(path, resealed(good, "\"entries\":3", "\"entries\":-3"));
  }
  SECTION("a huge count") {
    write_file(path, resealed(good, "\"entries\":3", "\"entries\":18446744073709551615"));
  }
  SECTION("marks elsewhere") {
    write_file(path, resealed(good, "images_000.a.marks", "../../etc/passwd"));
  }
  SECTION("deep nesting") {
    write_file(path, resealed(good, "\"entries\":3", "\"entries\":" + std::string(1000000, '[')));
  }
  SECTION("a symbolic link") {
    write_file(dir / "elsewhere", good);
    ::unlink(path.c_str());
    REQUIRE(::symlink((dir / "elsewhere").c_str(), path.c_str()) == 0);
  }
  SECTION("a pipe") {
    ::unlink(path.c_str());
    REQUIRE(::mkfifo(path.c_str(), 0644) == 0);
  }
  SECTION("a directory") {
    ::unlink(path.c_str());
    REQUIRE(::mkdir(path.c_str(), 0755) == 0);
  }
  CHECK_FALSE(bundle.read_record("images_000", lock_of('1')));
}

TEST_CASE("a record without whole marks reads as absent") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  bundle.write_record(sample_record(), lock_of('1'));
  const std::string path = dir / k_marks_file;
  const std::string good = read_file(path);
  SECTION("missing") {
    ::unlink(path.c_str());
  }
  SECTION("cut") {
    write_file(path, good.substr(0, good.size() - 37));
  }
  SECTION("longer") {
    write_file(path, good + std::string(37, '\0'));
  }
  SECTION("a byte flipped") {
    std::string bad = good;
    bad.back() = static_cast<char>(bad.back() ^ 1);
    write_file(path, bad);
  }
  CHECK_FALSE(bundle.read_record("images_000", lock_of('1')));
}

TEST_CASE("unknown keys of a record are ignored") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  bundle.write_record(sample_record(), lock_of('1'));
  const std::string path = dir / k_record_file;
  write_file(path, resealed(read_file(path), "\"stage\"", "\"x_new\":[1],\"stage\""));
  CHECK(bundle.read_record("images_000", lock_of('1')).value() == sample_record());
}

TEST_CASE("a million marks take 37 bytes each and are read in no time") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  PartRecord record = sample_record();
  record.marks.assign(1'000'000, {Place::ours, {1, 2, 3, 4, 5}});
  bundle.write_record(record, lock_of('1'));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(bundle.read_record("images_000", lock_of('1')).value().marks == record.marks);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds{5});
  CHECK(std::filesystem::file_size(dir / k_marks_file) < 38'000'000);
}

TEST_CASE("roots inside the bundle are stored relative to it, so the bundle may move") {
  TempDir dir;
  const std::string other = dir / "elsewhere";
  {
    Bundle bundle = Bundle::open(dir / "bundle", fs::Missing::create);
    CHECK_FALSE(bundle.read_roots());
    bundle.write_roots({{"bundle", dir / "bundle"},
                        {"media", dir / "bundle/media"},
                        {"runtime", other},
                        {"odd", "odd\xFFname"}});
  }
  std::filesystem::rename(dir / "bundle", dir / "moved");
  Bundle bundle = Bundle::open(dir / "moved", fs::Missing::is_error);
  const RootMap roots = bundle.read_roots().value();
  CHECK(roots == RootMap{{"bundle", "."}, {"media", "media"}, {"runtime", other}, {"odd", "odd\xFFname"}});
  CHECK(bundle.root_path(roots.at("bundle")) == dir / "moved");
  CHECK(bundle.root_path(roots.at("media")) == dir / "moved/media");
  CHECK(bundle.root_path(roots.at("runtime")) == other);
}

TEST_CASE("roots that lead upwards read as absent") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  bundle.write_roots({{"media", "../media"}});
  CHECK_FALSE(bundle.read_roots());
}

TEST_CASE("the selection is kept for its lock, whatever bytes a word has") {
  TempDir dir;
  Bundle bundle = open_bundle(dir);
  CHECK_FALSE(bundle.read_selection(lock_of('1')));
  const std::vector<std::string> only{"media", "a/*\xFF?", "\"quoted\"\n"};
  bundle.write_selection({only, {}}, lock_of('1'));
  const auto words = bundle.read_selection(lock_of('1'));
  REQUIRE(words);
  CHECK(words->only == only);
  CHECK(words->skip.empty());
  CHECK_FALSE(bundle.read_selection(lock_of('2')));
}
