// SPDX-License-Identifier: Apache-2.0
#include "claim.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <optional>
#include <vector>

#include "decant/base/clock.hpp"
#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/fs/owner.hpp"
#include "decant/fs/sys.hpp"
#include "decant/hash/hasher.hpp"
#include "sealed.hpp"

namespace decant::state {
namespace {

constexpr std::string_view k_after_prefix = "owner.after-";
constexpr std::string_view k_new_prefix = "owner.new-";
constexpr std::string_view k_temp_prefix = ".tmp-";  // of write_file_atomically
constexpr std::uint64_t k_owner_limit = 4096;
constexpr int k_rounds = 100;

fs::RelPath name_of(const std::string& name) {
  return fs::RelPath::require(name, "state file");
}

const fs::RelPath& owner_name() {
  static const fs::RelPath name = name_of("owner");
  return name;
}

fs::RelPath successor_of(std::string_view text) {
  return name_of(std::string{k_after_prefix} + hash::sha256(text).hex().substr(0, 32));
}

struct Link {
  fs::RelPath name;
  std::string text;
  std::int64_t beat = 0;  // mtime
  bool operator==(const Link& other) const { return name == other.name && text == other.text; }
};

std::optional<Link> read_link(const fs::DirHandle& dir, const fs::RelPath& name) {
  const auto facts = dir.stat(name);
  if (!facts) return std::nullopt;
  auto text = read_if_small(dir, name, k_owner_limit);
  if (!text) {
    if (!dir.stat(name)) return std::nullopt;  // removed in between
    throw Error{ErrorKind::state, escape_for_display(dir.path_of(name)) + " is not what decant writes there",
                "remove it when no decant works on this bundle, then run the same command again"};
  }
  return Link{name, *std::move(text), facts->mtime_sec};
}

// `owner` and its successors; empty when nobody ever claimed.
std::vector<Link> read_chain(const fs::DirHandle& dir) {
  std::vector<Link> chain;
  auto link = read_link(dir, owner_name());
  while (link && chain.size() < k_rounds) {
    chain.push_back(*std::move(link));
    link = read_link(dir, successor_of(chain.back().text));
  }
  return chain;
}

// A claim on its way: its temporary files, removed unless they became something.
class Attempt {
 public:
  Attempt(const fs::DirHandle& dir, const std::string& text) : dir_{dir}, text_{text} {}
  ~Attempt() {
    for (const fs::RelPath& name : made_) {
      try {
        dir_.remove_file(name);
      } catch (const Error&) {  // another error is on its way already
      }
    }
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  fs::RelPath make() {
    fs::RelPath name = name_of(std::string{k_new_prefix} + random_hex(8));
    const auto fd = dir_.create_file(name, 0644);
    if (!fd) throw Error{ErrorKind::bug, "a random name was taken"};
    made_.push_back(name);
    fs::sys::write_all(fd->get(), as_bytes(text_), dir_.path_of(name));
    if (fs::sys::fsync(fd->get()) != 0) throw_errno(errno, "sync", dir_.path_of(name));
    now_ = fs::facts_of(fd->get()).mtime_sec;
    return name;
  }
  void also_remove(const fs::RelPath& name) { made_.push_back(name); }
  void done() { made_.clear(); }
  // The file system's own idea of the time, as of the last make().
  std::int64_t now() const { return now_; }

 private:
  const fs::DirHandle& dir_;
  const std::string& text_;
  std::vector<fs::RelPath> made_;
  std::int64_t now_ = 0;
};

enum class Verdict { lives, dead, ask_the_clock };

Verdict judge(const std::string& text) {
  const auto owner = fs::parse_owner(text);
  if (!owner) return Verdict::ask_the_clock;
  switch (fs::liveness(*owner)) {
    case fs::Liveness::self:
    case fs::Liveness::alive:
      return Verdict::lives;
    case fs::Liveness::dead:
      return Verdict::dead;
    case fs::Liveness::unknown_host:
      break;
  }
  return Verdict::ask_the_clock;
}

std::string describe(const Link& link) {
  const auto owner = fs::parse_owner(link.text);
  if (!owner) return "an unreadable claim since " + format_utc(link.beat);
  return fmt::format("pid {} on {} since {}", owner->pid, escape_for_display(owner->host),
                     format_utc(owner->since));
}

// What killed processes left. Only the owner calls this, so nobody else is about to use a ".tmp-" name; an
// "owner.new-" may belong to somebody who is claiming right now.
void sweep(const fs::DirHandle& dir, std::string_view own_text, std::int64_t now) {
  remove_temporary_files(dir);
  for (const std::string& name : dir.list()) {
    const fs::RelPath path = name_of(name);
    bool remove = false;
    if (name.starts_with(k_after_prefix)) remove = path != successor_of(own_text);
    if (name.starts_with(k_new_prefix)) {
      const auto facts = dir.stat(path);
      const auto text = read_if_small(dir, path, k_owner_limit);
      if (!facts || !text) continue;
      const Verdict verdict = judge(*text);
      remove = verdict == Verdict::dead ||
               (verdict == Verdict::ask_the_clock && now - facts->mtime_sec > fs::k_heartbeat_expiry_seconds);
    }
    if (remove) dir.remove_file(path);
  }
}

}  // namespace

void remove_temporary_files(const fs::DirHandle& dir) {
  for (const std::string& name : dir.list()) {
    if (name.starts_with(k_temp_prefix)) dir.remove_file(name_of(name));
  }
}

std::optional<std::string> Claim::look(const fs::DirHandle& state_dir) {
  const std::vector<Link> chain = read_chain(state_dir);
  const Verdict verdict = chain.empty() ? Verdict::dead : judge(chain.back().text);
  const bool may_live = verdict == Verdict::ask_the_clock &&
                        std::time(nullptr) - chain.back().beat <= fs::k_heartbeat_expiry_seconds;
  if (verdict != Verdict::lives && !may_live) return std::nullopt;
  return describe(chain.back());
}

std::unique_ptr<Claim> Claim::take(const fs::DirHandle& state_dir, std::string* holder) {
  const std::string text = fs::to_text(fs::this_process());
  for (int round = 0; round < k_rounds; ++round) {
    const std::vector<Link> chain = read_chain(state_dir);
    const auto busy = [&] {
      if (holder != nullptr) *holder = describe(chain.back());
      return nullptr;
    };
    const Verdict verdict = chain.empty() ? Verdict::dead : judge(chain.back().text);
    if (verdict == Verdict::lives) return busy();

    Attempt attempt{state_dir, text};
    const fs::RelPath ours = attempt.make();
    if (verdict == Verdict::ask_the_clock &&
        attempt.now() - chain.back().beat <= fs::k_heartbeat_expiry_seconds) {
      return busy();
    }
    if (chain.empty()) {
      // An earlier claim of this very process has the same text: what succeeded that one is over.
      state_dir.remove_file(successor_of(text));
      if (!state_dir.rename_noreplace(ours, state_dir, owner_name())) continue;
    } else {
      const fs::RelPath copy = attempt.make();
      const fs::RelPath next = successor_of(chain.back().text);
      if (!state_dir.rename_noreplace(ours, state_dir, next)) continue;
      attempt.also_remove(next);
      std::vector<Link> expected = chain;
      expected.push_back({next, text, 0});
      if (read_chain(state_dir) != expected) continue;  // it was long over: somebody else owns by now
      state_dir.rename(copy, state_dir, owner_name());
    }
    attempt.done();
    std::unique_ptr<Claim> claim{new Claim{state_dir.duplicate(), text}};
    sweep(state_dir, text, attempt.now());
    return claim;
  }
  if (holder != nullptr) *holder = "several others who claim it at the same time";
  return nullptr;
}

Claim::Claim(fs::DirHandle dir, std::string text)
    : dir_{std::move(dir)}, text_{std::move(text)}, pid_{::getpid()} {
  if (auto file = dir_.open_for_update(owner_name())) file_ = *std::move(file);
  heart_ = std::thread{[this] { beat(); }};
}

Claim::~Claim() {
  if (pid_ != ::getpid()) {  // a forked child: neither the thread nor the claim is its own
    heart_.detach();
    return;
  }
  {
    const std::lock_guard lock{mutex_};
    end_ = true;
  }
  ending_.notify_all();
  heart_.join();
  try {
    if (read_if_small(dir_, owner_name(), k_owner_limit) == text_) dir_.remove_file(owner_name());
  } catch (const Error&) {  // it will be found dead
  }
}

bool Claim::lost() const {
  try {
    return read_if_small(dir_, owner_name(), k_owner_limit) != text_;
  } catch (const Error&) {  // a network file system that stands still; it may come back
    return false;
  }
}

// Through the descriptor: whoever took the name over keeps a heartbeat of its own.
void Claim::beat() {
  std::unique_lock lock{mutex_};
  while (!ending_.wait_for(lock, std::chrono::seconds{fs::k_heartbeat_period_seconds},
                           [this] { return end_; })) {
    fs::sys::futimens(file_.get(), nullptr);
  }
}

}  // namespace decant::state
