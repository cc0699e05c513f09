// SPDX-License-Identifier: Apache-2.0
// Every kind of state file, with the process killed or one call failing at each mutating call of its write:
// it reads as before or as written, and the next write succeeds and leaves nothing else behind.
#include <cerrno>
#include <functional>

#include "state_support.hpp"

using namespace decant;
using namespace decant::state;
using namespace decant::state::test;

namespace {

struct Kind {
  std::string name;
  std::function<void(Bundle&, int value)> write;
  std::function<int(const Bundle&)> read;  // 0: absent
};

model::RestoreLock lock_with(int value) {
  model::RestoreLock lock = sample_lock();
  lock.manifest_size = static_cast<std::uint64_t>(value);
  return lock;
}

std::vector<Kind> kinds() {
  return {
      {"record",
       [](Bundle& bundle, int value) {
         PartRecord record = sample_record(value);
         record.marks.front().stamp.ino = static_cast<std::uint64_t>(value);
         bundle.write_record(record, lock_of('1'));
       },
       [](const Bundle& bundle) {
         const auto record = bundle.read_record("images_000", lock_of('1'));
         if (!record) return 0;
         CHECK(record->marks.front().stamp.ino == static_cast<std::uint64_t>(record->finished));
         return static_cast<int>(record->finished);
       }},
      {"lock", [](Bundle& bundle, int value) { bundle.write_lock(lock_with(value)); },
       [](const Bundle& bundle) {
         const auto lock = bundle.read_lock();
         return lock ? static_cast<int>(lock->manifest_size) : 0;
       }},
      {"roots",
       [](Bundle& bundle, int value) {
         bundle.write_roots({{"bundle", "."}, {std::to_string(value), "x"}});
       },
       [](const Bundle& bundle) {
         const auto roots = bundle.read_roots();
         return roots ? std::stoi(roots->begin()->first) : 0;
       }},
      {"index",
       [](Bundle& bundle, int value) {
         bundle.write_index("p", sample_index(static_cast<std::size_t>(value)));
       },
       [](const Bundle& bundle) {
         for (int value : {1, 2}) {
           const auto text = model::to_jsonl(sample_index(static_cast<std::size_t>(value)));
           if (bundle.read_index("p", hash::sha256(text))) return value;
         }
         return 0;
       }},
  };
}

void check_finishes(const Kind& kind, const TempDir& dir) {
  Bundle bundle = open_bundle(dir);
  CHECK(bundle.claim(nullptr) == Ownership::taken);
  kind.write(bundle, 2);
  CHECK(kind.read(bundle) == 2);
}

}  // namespace

TEST_CASE("a state file is the old or the new one, whenever its writer is killed") {
  sweep_in_memory();
  for (const Kind& kind : kinds()) {
    for (const int before : {0, 1}) {
      for (unsigned long k = 1;; ++k) {
        CAPTURE(kind.name, before, k);
        TempDir dir;
        Bundle bundle = open_bundle(dir);
        if (before != 0) kind.write(bundle, before);
        const bool killed = killed_at_call(k, [&] {
          Bundle again = open_bundle(dir);
          kind.write(again, 2);
        });
        const int value = kind.read(bundle);
        if (value != before) CHECK(value == 2);
        if (!killed) CHECK(value == 2);
        check_finishes(kind, dir);
        CHECK(leftovers(dir).empty());
        if (!killed) break;
        REQUIRE(k < 1000);
      }
    }
  }
}

TEST_CASE("a state file is the old or the new one, whichever call fails") {
  sweep_in_memory();
  for (const Kind& kind : kinds()) {
    for (const int error : {ENOSPC, EIO}) {
      for (unsigned long k = 1;; ++k) {
        CAPTURE(kind.name, error, k);
        TempDir dir;
        Bundle bundle = open_bundle(dir);
        kind.write(bundle, 1);
        bool threw = false;
        const bool failed = failed_at_call(
            k, error, [&] { kind.write(bundle, 2); },
            [&](const Error& thrown) {
              threw = true;
              CHECK(thrown.kind() == ErrorKind::disk);
            });
        const int value = kind.read(bundle);
        if (value != 2) CHECK((value == 1 && threw));
        check_finishes(kind, dir);
        CHECK(leftovers(dir).empty());
        if (!failed) break;
        REQUIRE(k < 1000);
      }
    }
  }
}

TEST_CASE("staging directories are found, made and removed after a kill at any call, and nothing is left") {
  sweep_in_memory();
  for (const char* root_name : {"bundle", "runtime"}) {
    for (unsigned long k = 1;; ++k) {
      CAPTURE(root_name, k);
      TempDir dir;
      const auto runtime = fs::DirHandle::open(dir / "runtime", fs::Missing::create);
      Bundle bundle = Bundle::open(dir / "bundle", fs::Missing::create);
      const fs::DirHandle& root = std::string{root_name} == "bundle" ? bundle.dir() : runtime;
      const bool killed = killed_at_call(k, [&] {
        const auto staging = bundle.open_staging(root_name, root, lock_of('1'), nullptr);
        staging.make_dirs(rel("part/tree/a"));
        staging.make_dirs(rel("zoo/tree/a"));
        bundle.remove_staging(root_name, root, lock_of('1'));
      });
      const bool removed_first = k % 2 == 0;
      if (removed_first) bundle.remove_staging(root_name, root, lock_of('1'));
      bundle.open_staging(root_name, root, lock_of('1'), nullptr);
      CHECK(bundle.find_staging(root_name, root, lock_of('1'), nullptr));
      bundle.remove_staging(root_name, root, lock_of('1'));
      CHECK(snapshot(dir / "runtime").empty());
      { CHECK(bundle.claim(nullptr) == Ownership::taken); }
      if (!killed) break;
      REQUIRE(k < 1000);
    }
  }
}
