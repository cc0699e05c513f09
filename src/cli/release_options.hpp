// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decant/net/transport.hpp"
#include "decant/restore/restore.hpp"
#include "session.hpp"
#include "source_argument.hpp"

namespace decant::cli {

// The options that restore, plan and fetch share; empty: not given, the request's own default holds.
struct ReleaseOptions {
  std::string source;
  std::string repo_type;
  std::string release;
  std::string revision;
  std::string manifest;
  bool loose = false;
  std::string bundle;  // not for fetch
  std::vector<std::string> roots;
  std::string runtime_root;
  std::string cache;
  std::vector<std::string> from;
  std::vector<std::string> only;
  std::vector<std::string> skip;
  bool reextract = false;
  bool offline = false;
  std::string endpoint;
  std::optional<int> jobs;
  std::optional<int> connections;
  std::string limit_rate;
  std::string memory;
  std::string stall_timeout;
  std::string wait;  // "true": without a limit
};

enum class For { restore, fetch };

// --wait[=TIME]; before the common options.
void add_wait_option(CLI::App& command, ReleaseOptions& options, For purpose);

void add_release_options(CLI::App& command, Session& session, ReleaseOptions& options, For purpose);

// A request with the services it needs; keeps the transport alive.
struct ReleaseJob {
  restore::Request request;
  restore::Services services;
  std::unique_ptr<net::Transport> transport;
  std::vector<std::unique_ptr<source::Source>> places;
};
// Throws Error{usage} for anything that does not fit together. May look at the bundle's lock, writes nothing.
std::unique_ptr<ReleaseJob> make_release_job(const ReleaseOptions& options, Session& session, For purpose);

// The whole restore line, as a plan prints it.
std::string restore_line(const ReleaseOptions& options, const std::string& commit);

// "NAME=DIR" pairs of --root and --tree; throws Error{usage} that names the flag.
std::map<std::string, std::string> parse_places(const std::vector<std::string>& words, std::string_view flag);

// "30s", "2m", "500ms", "12h", "30d", "30" (seconds). Throws Error{usage} that names the flag.
std::chrono::milliseconds parse_time(const std::string& text, std::string_view flag);

}  // namespace decant::cli
