// SPDX-License-Identifier: Apache-2.0
// Publishing is stopped at every mutating call, and every such call fails once; then it is run again with the
// same records and must lead to the very same tree.
#include <cerrno>
#include <functional>
#include <memory>
#include <set>

#include "staged_part.hpp"

using namespace decant;
using namespace decant::publish;
using namespace decant::publish::test;

namespace {

// Two parts of some forty entries that merge into a root which holds some of it already.
class Scene {
 public:
  Scene() {
    for (const char* path : {"media/mine", "media/a/mine", "notes/mine"}) write_file(at(path), "mine");
    write_file(at("media/a/same"), "same");
    write_file(at("media/adopted"), "adopted");
    for (const auto& [path, what] : snapshot(dir_ / "root")) {
      there_.insert(path);
      set_time(at(path), 1500000000);
    }

    one_.dir("media").dir("media/a").file("media/a/same", "same").adopted("media/adopted", "adopted");
    for (int i = 0; i < 8; ++i) one_.file("media/a/" + std::to_string(i), std::to_string(i));
    one_.dir("media/new").dir("media/new/deep").file("media/new/deep/x", "x", true);
    for (int i = 0; i < 4; ++i) one_.file("media/new/" + std::to_string(i), std::to_string(i));
    one_.link("media/new/link", "deep/x").link("media/a/link", "0").link("media/link", "/nowhere");
    one_.hard_link("media/a/hard", "media/a/0").hard_link("media/new/hard", "media/a/0").dir("media/empty");
    one_.dir("fresh").file("fresh/f", "f").link("fresh/l", "f").file("top", "top").link("toplink", "top");
    two_.dir("new").file("new/extra", "extra").file("new/0", "0").link("new/link", "deep/x").dir("new/deep");
    two_.file("new/deep/y", "y").dir("new/other").file("new/other/z", "z");
    one_.finish();
    two_.finish();
  }

  // As a restore does: conflicts first, then publish, from the records as they were staged.
  void run() {
    const auto conflicts = lines(conflicts_of({&one_, &two_}));
    if (!conflicts.empty()) throw std::runtime_error{conflicts.front()};
    publish_all({&one_, &two_});
  }
  // A new process reads the records from disk.
  class Records {
   public:
    explicit Records(Scene& scene) : scene_{scene}, one_{scene.one_.marks}, two_{scene.two_.marks} {}
    void put_back() {
      scene_.one_.marks = one_;
      scene_.two_.marks = two_;
    }

   private:
    Scene& scene_;
    state::Marks one_;
    state::Marks two_;
  };

  // The root; without the times of directories that were there before.
  std::vector<std::string> tree() const {
    std::vector<std::string> tree;
    for (auto [path, what] : snapshot(dir_ / "root")) {
      if (there_.contains(path) && what.starts_with("dir")) what.resize(what.find(" mtime"));
      if (what.starts_with("link")) what.erase(what.find(" mtime"), what.find(" ->") - what.find(" mtime"));
      tree.push_back(path + ": " + what);
    }
    return tree;
  }
  bool nothing_staged() const {
    return snapshot(dir_ / "stage1").empty() && snapshot(dir_ / "stage2").empty();
  }
  bool looks_unchanged() {
    for (TestPart* part : {&one_, &two_}) {
      const PresenceReport report = look(root_, part->staged().under, part->index(), part->marks);
      if (report.presence != Presence::all || !report.changed.empty()) return false;
    }
    return true;
  }

 private:
  std::string at(std::string_view path) const { return dir_ / ("root/" + std::string{path}); }

  TempDir dir_;
  fs::DirHandle root_ = fs::DirHandle::open(dir_ / "root", fs::Missing::create);
  TestPart one_{"one", dir_ / "stage1", root_};
  TestPart two_{"two", dir_ / "stage2", root_, "media"};
  std::set<std::string> there_;
};

int no_noreplace(std::string_view call) {
  return call == "rename_noreplace" ? EINVAL : 0;
}

std::vector<std::string> wanted_tree() {
  Scene scene;
  scene.run();
  return scene.tree();
}

void check_finished(Scene& scene, const std::vector<std::string>& wanted) {
  CHECK(scene.tree() == wanted);
  CHECK(scene.nothing_staged());
  CHECK(scene.looks_unchanged());
}

}  // namespace

TEST_CASE("publishing leads to the same tree after a kill at any call") {
  sweep_in_memory();
  const auto wanted = wanted_tree();
  CHECK(wanted.size() >= 38);
  const bool with_fallback = GENERATE(false, true);
  const std::function<int(std::string_view)> other =
      with_fallback ? std::function<int(std::string_view)>{no_noreplace} : nullptr;
  unsigned long k = 1;
  for (;; ++k) {
    CAPTURE(with_fallback, k);
    Scene scene;
    const bool killed = killed_at_call(
        k, [&] { scene.run(); }, other);
    if (with_fallback && k % 2 == 0) {
      const fs::sys::ScopedHook hook{
          [](std::string_view call, unsigned long /*number*/) { return no_noreplace(call); }};
      scene.run();
    } else {
      scene.run();
    }
    check_finished(scene, wanted);
    if (!killed) break;
    REQUIRE(k < 1000);
  }
  CHECK(k > 30);
}

TEST_CASE("publishing leads to the same tree after two kills") {
  sweep_in_memory();
  const auto wanted = wanted_tree();
  for (unsigned long k = 1; k < 40; k += 3) {
    for (unsigned long second = 1; second < 30; second += 7) {
      CAPTURE(k, second);
      Scene scene;
      killed_at_call(k, [&] { scene.run(); });
      killed_at_call(second, [&] { scene.run(); });
      scene.run();
      check_finished(scene, wanted);
    }
  }
}

TEST_CASE("publishing goes on after any call failed once") {
  sweep_in_memory();
  const auto wanted = wanted_tree();
  for (const int error : {ENOSPC, EIO, EDQUOT}) {
    for (unsigned long k = 1;; ++k) {
      CAPTURE(error, k);
      Scene scene;
      Scene::Records records{scene};
      bool threw = false;
      const bool failed = failed_at_call(
          k, error, [&] { scene.run(); },
          [&](const Error& thrown) {
            threw = true;
            CHECK(thrown.kind() == ErrorKind::disk);
          });
      CHECK(failed == threw);
      if (k % 2 == 0) records.put_back();  // else the same process goes on
      scene.run();
      check_finished(scene, wanted);
      if (!failed) break;
      REQUIRE(k < 1000);
    }
  }
}
