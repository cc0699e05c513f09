// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace decant::fs {

// Who holds something on disk: enough to tell a dead owner from a live one without any kernel lock.
struct Owner {
  std::string host;
  std::string boot_id;  // /proc/sys/kernel/random/boot_id
  std::int64_t pid = 0;
  std::uint64_t start_time = 0;  // field 22 of /proc/PID/stat, clock ticks since boot
  std::string nonce;             // random, one a process
  std::int64_t since = 0;        // wall seconds, informative
  bool operator==(const Owner&) const = default;
};

const Owner& this_process();

// One line of JSON-free text "decant.owner/1 HOST BOOT PID START NONCE SINCE\n"; parse gives nullopt for
// anything else.
std::string to_text(const Owner& owner);
std::optional<Owner> parse_owner(std::string_view text);

enum class Liveness { self, alive, dead, unknown_host };
// Same host and boot: the pid with that start time decides. Same host, other boot: dead. Another host:
// unknown_host; the caller judges by the age of the heartbeat (mtime of the owner file against the same file
// system's clock).
Liveness liveness(const Owner& owner);

// An owner on another host whose heartbeat is older than this is dead.
inline constexpr std::int64_t k_heartbeat_expiry_seconds = 600;
inline constexpr std::int64_t k_heartbeat_period_seconds = 30;

}  // namespace decant::fs
