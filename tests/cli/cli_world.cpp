// SPDX-License-Identifier: Apache-2.0
#include "cli_world.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <filesystem>
#include <ostream>
#include <regex>
#include <set>
#include <thread>

#include "decant/cli/cli.hpp"
#include "support/catch.hpp"
#include "support/string_stream.hpp"

namespace decant::test {
namespace {

namespace stdfs = std::filesystem;

constexpr std::array k_commands{"restore", "plan", "fetch", "verify", "status", "cache"};

// A pipe that nobody reads: the program's own stream meets EPIPE.
std::unique_ptr<ui::Stream> closed_stream() {
  static const int fd = [] {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) throw std::runtime_error{"no pipe"};
    ::close(ends[0]);
    ::signal(SIGPIPE, SIG_IGN);
    return ends[1];
  }();
  return ui::fd_stream(fd);
}

std::unique_ptr<ui::Stream> full_stream() {
  static const int fd = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  return ui::fd_stream(fd);
}

std::unique_ptr<ui::Stream> make_stdout(Stdout kind, std::string& kept) {
  if (kind == Stdout::closed) return closed_stream();
  if (kind == Stdout::full) return full_stream();
  return std::make_unique<StringStream>(kept);
}

bool is_ours(const std::string& path) {
  return path == ".decant" || path.starts_with(".decant/") || path == "restore_lock.json" ||
         path.starts_with(".decant-") || path.find("/.decant-") != std::string::npos;
}

void each_below(const std::string& directory, const std::function<void(const std::string&)>& visit) {
  if (!exists(directory)) return;
  for (const auto& entry : stdfs::recursive_directory_iterator{directory})
    visit(entry.path().lexically_relative(directory).string());
}

std::string stamp(const std::string& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) return "none";
  return fmt::format("inode {} mode {:o} size {} links {} mtime {}.{} ctime {}.{}", st.st_ino, st.st_mode,
                     st.st_size, st.st_nlink, st.st_mtim.tv_sec, st.st_mtim.tv_nsec, st.st_ctim.tv_sec,
                     st.st_ctim.tv_nsec);
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, const Ran& ran) {
  return stream << "exit code " << ran.code << "\n--- stdout\n" << ran.out << "--- stderr\n" << ran.err;
}

bool has(const std::string& text, std::initializer_list<std::string_view> words) {
  bool all = true;
  for (const auto word : words) {
    if (text.find(word) != std::string::npos) continue;
    all = false;
    UNSCOPED_INFO("not there: " << word);
  }
  if (!all) UNSCOPED_INFO(text);
  return all;
}

bool has(const Ran& ran, std::initializer_list<std::string_view> words) {
  return has(ran.all(), words);
}

Tree tree_of(const std::string& directory) {
  Tree tree;
  each_below(directory, [&](const std::string& path) {
    if (is_ours(path)) return;
    const stdfs::path full = directory + "/" + path;
    const auto status = stdfs::symlink_status(full);
    if (status.type() == stdfs::file_type::symlink)
      tree[path] = "-> " + stdfs::read_symlink(full).string();
    else if (status.type() == stdfs::file_type::directory)
      tree[path] = "DIR";
    else
      tree[path] = read_file(full) +
                   ((status.permissions() & stdfs::perms::owner_exec) != stdfs::perms::none ? "*" : "");
  });
  return tree;
}

Tree stamps_of(const std::string& directory) {
  Tree tree{{".", stamp(directory)}};
  each_below(directory, [&](const std::string& path) { tree[path] = stamp(directory + "/" + path); });
  return tree;
}

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = text.find('\n', at);
    if (end == std::string::npos) throw std::runtime_error{"the last line has no end"};
    lines.push_back(nlohmann::json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

std::chrono::steady_clock::time_point HastyClock::now() const {
  return system_clock().now() + std::chrono::milliseconds{slept_.load()};
}

std::int64_t HastyClock::wall_seconds() const {
  return system_clock().wall_seconds() + slept_.load() / 1000;
}

void HastyClock::sleep(std::chrono::milliseconds duration, const Stop& stop) {
  stop.throw_if_requested();
  slept_ += duration.count();
  std::this_thread::yield();
}

World::World(TokenIn token_in)
    : repo{hub.add_repo({.id = std::string{k_repo_id}, .accepted_tokens = {}, .lfs_min = 64 * 1024})},
      token{"hf_canary" + sha256_hex(dir.path()).substr(0, 24)} {
  hub.add_token(token);
  first_commit = repo.add_commit(release.commit_files());
  env = {{"HF_ENDPOINT", hub.endpoint()}, {"HOME", dir / "home"}};
  switch (token_in) {
    case TokenIn::variable:
      env["HF_TOKEN"] = token;
      break;
    case TokenIn::file:
      env["HF_TOKEN_PATH"] = secrets_ / "my_token";
      write_file(env["HF_TOKEN_PATH"], token + "\n");
      ::chmod(env["HF_TOKEN_PATH"].c_str(), 0600);
      break;
    case TokenIn::home:
      env["HF_HOME"] = secrets_.path();
      write_file(secrets_ / "token", token);
      ::chmod((secrets_ / "token").c_str(), 0600);
      break;
  }
  SmallRelease::write_base_model(model());
}

World::~World() {
  if (std::uncaught_exceptions() > 0) return;
  each_below(dir.path(), [&](const std::string& path) {
    const auto full = dir / path;
    if (path.find(token) != std::string::npos) FAIL_CHECK("the token is in the name " << path);
    if (stdfs::is_regular_file(stdfs::symlink_status(full)) &&
        read_file(full).find(token) != std::string::npos)
      FAIL_CHECK("the token is in the file " << path);
  });
}

void World::look_for_token(const Ran& ran) const {
  if (ran.all().find(token) != std::string::npos) FAIL_CHECK("the token is in the output: " << ran);
  for (const auto& request : hub.requests()) {
    if (request.target.find(token) != std::string::npos || request.body.find(token) != std::string::npos)
      FAIL_CHECK("the token is in a URL or body: " << request.target);
    if (request.where != Where::cdn) continue;
    if (request.has_authorization) FAIL_CHECK("the CDN got an Authorization header");
    for (const auto& [name, value] : request.headers)
      if (value.find(token) != std::string::npos) FAIL_CHECK("the CDN got the token in " << name);
  }
}

namespace {

Ran call(World& world, Args args) {
  Ran ran;
  cli::Io io;
  io.out = make_stdout(world.standard_output, ran.out);
  io.err = std::make_unique<StringStream>(ran.err);
  io.getenv = [&world](const std::string& name) -> std::optional<std::string> {
    const auto it = world.env.find(name);
    return it == world.env.end() ? std::nullopt : std::optional{it->second};
  };
  io.clock = world.clock_in_use;
  io.stop = world.stop.get();
  ran.code = cli::run(std::move(args), std::move(io));
  return ran;
}

// "--flag" and "decant verb" in a text.
std::set<std::string> words_of(const std::string& text, const std::regex& form) {
  std::set<std::string> words;
  for (std::sregex_iterator it{text.begin(), text.end(), form}, end; it != end; ++it) words.insert((*it)[1]);
  return words;
}

const std::regex k_flag{"(?:^|[^A-Za-z0-9_/=-])(--[a-z][a-z0-9-]*)"};

// All flags that some command has.
const std::set<std::string>& known_flags(World& world) {
  static const auto flags = [&] {
    std::set<std::string> all{"--version"};
    for (const auto* command : k_commands) {
      const auto help = call(world, {command, "--help"});
      all.merge(words_of(help.out, k_flag));
    }
    for (const auto* command : {"ls", "verify", "prune"})
      all.merge(words_of(call(world, {"cache", command, "--help"}).out, k_flag));
    return all;
  }();
  return flags;
}

// Hints name only what exists, or what the user wrote.
void check_hints(World& world, const Args& args, const Ran& ran) {
  for (const auto& flag : words_of(ran.all(), k_flag)) {
    const bool given = std::ranges::any_of(args, [&](const auto& arg) { return arg.starts_with(flag); });
    if (!given && !known_flags(world).contains(flag))
      FAIL_CHECK("a flag that does not exist: " << flag << "\n" << ran);
  }
  static const std::regex command_form{"(?:next: |run|with|by) +decant ([a-z][a-z-]*)"};
  for (const auto& word : words_of(ran.all(), command_form))
    if (std::ranges::find(k_commands, word) == std::end(k_commands))
      FAIL_CHECK("a command that does not exist: " << word << "\n" << ran);
}

}  // namespace

Ran World::run(Args args) {
  const auto before = writes_forbidden_ ? stamps_of(dir.path()) : Tree{};
  auto ran = call(*this, args);
  if (writes_forbidden_) {
    const auto after = stamps_of(dir.path());
    for (const auto& [path, stamp] : after)
      if (const auto it = before.find(path); it == before.end() || it->second != stamp)
        FAIL_CHECK("written: " << path << "\n" << ran);
    CHECK(before.size() == after.size());
  }
  look_for_token(ran);
  check_hints(*this, args, ran);
  if (ran.all().find('\x1b') != std::string::npos || ran.all().find('\r') != std::string::npos)
    FAIL_CHECK("control characters without a terminal: " << ran);
  return ran;
}

Args World::release_args(const std::string& command) const {
  return {command, std::string{k_repo_id}, "--release", std::string{SmallRelease::k_folder}};
}

Args World::places() const {
  return {"--bundle", bundle(), "--runtime-root", runtime()};
}

namespace {
Args joined(Args args, const Args& more, const Args& still_more = {}) {
  args.insert(args.end(), more.begin(), more.end());
  args.insert(args.end(), still_more.begin(), still_more.end());
  return args;
}
}  // namespace

Ran World::restore(const Args& more) {
  return run(joined(release_args("restore"), places(), more));
}
Ran World::plan(const Args& more) {
  return run(joined(release_args("plan"), places(), more));
}
Ran World::restore_again(const Args& more) {
  return run(joined({"restore", "--bundle", bundle()}, more));
}
Ran World::fetch(const Args& more) {
  return run(joined(release_args("fetch"), {"--download-cache", cache()}, more));
}
Ran World::verify(const Args& more) {
  return run(joined({"verify", "--bundle", bundle(), "--base-model", model()}, more));
}
Ran World::status(const Args& more) {
  return run(joined({"status", "--bundle", bundle()}, more));
}

std::string World::commit(const std::function<void(SmallRelease&)>& edit) {
  SmallRelease changed;
  edit(changed);
  return repo.add_commit(changed.commit_files());
}

std::string World::commit_manifest(const std::string& text) {
  return repo.add_commit(release.commit_files_with(text));
}

bool World::is_restored() const {
  const auto differ = [](const Tree& found, const Tree& expected, std::string_view where) {
    for (const auto& [path, content] : expected) {
      const auto it = found.find(path);
      if (it == found.end())
        UNSCOPED_INFO("missing in the " << where << ": " << path);
      else if (it->second != content)
        UNSCOPED_INFO("differs in the " << where << ": " << path);
    }
    for (const auto& [path, content] : found)
      if (!expected.contains(path)) UNSCOPED_INFO("extra in the " << where << ": " << path);
    return found != expected;
  };
  const bool bundle_differs = differ(tree_of(bundle()), SmallRelease::bundle_tree(), "bundle");
  const bool runtime_differs = differ(tree_of(runtime()), SmallRelease::runtime_tree(), "runtime root");
  return !bundle_differs && !runtime_differs;
}

std::uint64_t World::requests() const {
  const auto counters = hub.counters();
  return counters.requests_hub + counters.requests_cdn;
}

}  // namespace decant::test
