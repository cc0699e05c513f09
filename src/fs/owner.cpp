// SPDX-License-Identifier: Apache-2.0
#include "decant/fs/owner.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <mutex>
#include <vector>

#include "decant/base/bytes.hpp"
#include "decant/base/clock.hpp"
#include "decant/base/fd.hpp"
#include "decant/base/text.hpp"
#include "proc_stat.hpp"

namespace decant::fs {
namespace {

constexpr std::string_view k_header = "decant.owner/1";

std::string read_proc(const std::string& path) {
  const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  std::array<char, 4096> buffer{};
  const ssize_t got = fd ? ::read(fd.get(), buffer.data(), buffer.size()) : -1;
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string{};
}

// One word of the owner line: never empty, no blanks, no control characters.
std::string as_word(std::string_view text) {
  std::string word{text};
  std::replace_if(
      word.begin(), word.end(), [](char c) { return c <= ' ' || c > '~'; }, '_');
  return word.empty() ? "-" : word;
}

// A container has pids of its own, also when it shares the host's name: then its pid namespace is part of the
// name, so that a pid is never looked up in the wrong one.
std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) name[0] = '\0';
  constexpr ino_t k_first_pid_namespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of the kernel
  struct stat st {};
  if (::stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != k_first_pid_namespace) {
    return as_word(fmt::format("{}/pidns-{}", name.data(), st.st_ino));
  }
  return as_word(name.data());
}

Owner make_owner() {
  Owner owner;
  owner.host = host_name();
  owner.boot_id = as_word(trim(read_proc("/proc/sys/kernel/random/boot_id")));
  owner.pid = ::getpid();
  if (const auto stat = parse_proc_stat(read_proc("/proc/self/stat"))) owner.start_time = stat->start_time;
  owner.nonce = random_hex(8);
  owner.since = system_clock().wall_seconds();
  return owner;
}

}  // namespace

std::optional<ProcStat> parse_proc_stat(std::string_view text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  const std::vector<std::string> fields = split(trim(text.substr(name_end + 1)), ' ');
  constexpr std::size_t k_first_field = 3;  // counted from 1 as in proc(5): state comes after the name
  constexpr std::size_t k_start_time = 22 - k_first_field;
  if (fields.size() <= k_start_time || fields[0].size() != 1) return std::nullopt;
  const auto start_time = parse_u64(fields[k_start_time]);
  if (!start_time) return std::nullopt;
  return ProcStat{fields[0][0], *start_time};
}

const Owner& this_process() {
  static std::mutex mutex;
  static Owner owner;
  const std::lock_guard lock{mutex};
  // A forked child is another owner; it has one thread when it gets here, so nobody reads the old value.
  if (owner.pid != ::getpid()) owner = make_owner();
  return owner;
}

std::string to_text(const Owner& owner) {
  return fmt::format("{} {} {} {} {} {} {}\n", k_header, as_word(owner.host), as_word(owner.boot_id),
                     owner.pid, owner.start_time, as_word(owner.nonce), owner.since);
}

std::optional<Owner> parse_owner(std::string_view text) {
  if (!text.ends_with('\n')) return std::nullopt;
  text.remove_suffix(1);
  const std::vector<std::string> words = split(text, ' ');
  if (words.size() != 7 || words[0] != k_header) return std::nullopt;
  for (const std::string& word : words) {
    if (word != as_word(word)) return std::nullopt;
  }
  const auto pid = parse_u64(words[3]);
  const auto start_time = parse_u64(words[4]);
  const auto since = parse_u64(words[6]);
  constexpr auto k_max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  constexpr auto k_max_pid = static_cast<std::uint64_t>(std::numeric_limits<pid_t>::max());
  if (!pid || *pid == 0 || *pid > k_max_pid || !start_time || !since || *since > k_max) return std::nullopt;
  return Owner{words[1],    words[2], static_cast<std::int64_t>(*pid),
               *start_time, words[5], static_cast<std::int64_t>(*since)};
}

Liveness liveness(const Owner& owner) {
  const Owner& self = this_process();
  if (owner.host != self.host) return Liveness::unknown_host;
  if (owner.boot_id != self.boot_id) return Liveness::dead;
  if (owner.pid == self.pid) {
    // Pid and start time outlive exec: another nonce is a program that this one replaced.
    return owner.start_time == self.start_time && owner.nonce == self.nonce ? Liveness::self : Liveness::dead;
  }
  if (const auto stat = parse_proc_stat(read_proc(fmt::format("/proc/{}/stat", owner.pid)))) {
    const bool ended = stat->state == 'Z' || stat->state == 'X';
    return stat->start_time == owner.start_time && !ended ? Liveness::alive : Liveness::dead;
  }
  // /proc may hide other users' processes (hidepid): then only their existence shows.
  const bool exists = ::kill(static_cast<pid_t>(owner.pid), 0) == 0 || errno == EPERM;
  return exists ? Liveness::alive : Liveness::dead;
}

}  // namespace decant::fs
