// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decant/base/clock.hpp"
#include "decant/base/stop.hpp"
#include "small_release.hpp"
#include "support/temp_dir.hpp"
#include "support/test_hub.hpp"

namespace decant::test {

using Args = std::vector<std::string>;
using Tree = std::map<std::string, std::string>;

// What a command did, seen from outside.
struct Ran {
  int code = -1;
  std::string out;
  std::string err;
  std::string all() const { return out + err; }
};
std::ostream& operator<<(std::ostream& stream, const Ran& ran);

// Every word is in the text; words that are not go to Catch's output.
bool has(const std::string& text, std::initializer_list<std::string_view> words);
bool has(const Ran& ran, std::initializer_list<std::string_view> words);

// As SmallRelease::bundle_tree() writes it; .decant, restore_lock.json and .decant-* are left out.
Tree tree_of(const std::string& directory);

// Inode, size, mode and times to the nanosecond of everything below: equal stamps mean that nothing was
// written.
Tree stamps_of(const std::string& directory);

// JSON lines; throws when one does not parse.
std::vector<nlohmann::json> json_lines(const std::string& text);

// Real time, but a sleep only moves the clock.
class HastyClock final : public Clock {
 public:
  std::chrono::steady_clock::time_point now() const override;
  std::int64_t wall_seconds() const override;
  void sleep(std::chrono::milliseconds duration, const Stop& stop) override;

 private:
  std::atomic<std::int64_t> slept_{0};  // milliseconds
};

// Where stdout goes: into Ran, to a pipe that nobody reads, to a full disk.
enum class Stdout { kept, closed, full };

enum class TokenIn { variable, file, home };

// A hub with one dataset repo, a machine's directories, an environment. Every run gets a token of its own
// value, and fails the test when that value shows up in the output, in a request to the CDN or in a URL; the
// end of the world looks for it in every file below `dir`.
class World {
 public:
  explicit World(TokenIn token_in = TokenIn::variable);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  static constexpr std::string_view k_repo_id = "org/release";

  Ran run(Args args);
  // From now on each run must leave everything below `dir` as it was.
  void forbid_writes(bool forbidden = true) { writes_forbidden_ = forbidden; }
  // restore ORG/REPO --release … --bundle … --runtime-root …, and more; `restore_again` names only the
  // bundle.
  Ran restore(const Args& more = {});
  Ran plan(const Args& more = {});
  Ran restore_again(const Args& more = {});
  Ran fetch(const Args& more = {});  // into cache()
  Ran verify(const Args& more = {});
  Ran status(const Args& more = {});
  Args release_args(const std::string& command) const;  // SOURCE and --release
  Args places() const;                                  // --bundle, --runtime-root

  // A commit of the release as `edit` leaves it.
  std::string commit(const std::function<void(SmallRelease&)>& edit);
  std::string commit_manifest(const std::string& text);  // these bytes as the manifest

  std::string bundle() const { return dir / "bundle"; }
  std::string runtime() const { return dir / "runtime"; }
  std::string cache() const { return dir / "cache"; }
  std::string model() const { return dir / "model"; }
  bool is_restored() const;  // both trees are exactly the release
  std::uint64_t requests() const;
  std::uint64_t bytes_from_cdn() const { return hub.counters().bytes_cdn; }

  TempDir dir;
  TestHub hub;
  TestRepo& repo;
  std::string first_commit;
  SmallRelease release;  // as in first_commit
  std::map<std::string, std::string> env;
  std::string token;
  HastyClock clock;
  Clock* clock_in_use = &clock;
  std::unique_ptr<Stop> stop = std::make_unique<Stop>();
  Stdout standard_output = Stdout::kept;

 private:
  void look_for_token(const Ran& ran) const;
  bool writes_forbidden_ = false;
  TempDir secrets_;
};

}  // namespace decant::test
