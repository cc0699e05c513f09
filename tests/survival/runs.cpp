// SPDX-License-Identifier: Apache-2.0
#include "runs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>

#include "decant/cli/cli.hpp"
#include "decant/fs/sys.hpp"
#include "support/string_stream.hpp"

namespace decant::test {

namespace {

Fd memory_file(const char* name) {
  Fd fd{::memfd_create(name, MFD_CLOEXEC)};
  if (!fd) throw std::runtime_error{"cannot make a memory file"};
  return fd;
}

std::string content_of(const Fd& fd) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (off_t at = 0;;) {
    const auto got = ::pread(fd.get(), buffer.data(), buffer.size(), at);
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    at += got;
  }
}

Outcome outcome_of(int status, const Fd& out, const Fd& err) {
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          .out = content_of(out),
          .err = content_of(err)};
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) != child)
    if (errno != EINTR) throw std::runtime_error{"cannot wait for a child"};
  return status;
}

std::function<std::optional<std::string>(const std::string&)> looker(Environment environment) {
  return [environment = std::move(environment)](const std::string& name) -> std::optional<std::string> {
    const auto it = environment.find(name);
    return it == environment.end() ? std::nullopt : std::optional{it->second};
  };
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

Outcome run_here(std::vector<std::string> arguments, const Environment& environment, Clock* clock) {
  Outcome outcome;
  Stop stop;
  cli::Io io;
  io.out = std::make_unique<StringStream>(outcome.out);
  io.err = std::make_unique<StringStream>(outcome.err);
  io.getenv = looker(environment);
  io.clock = clock != nullptr ? clock : &system_clock();
  io.stop = &stop;
  outcome.code = cli::run(std::move(arguments), std::move(io));
  return outcome;
}

Outcome run_forked(std::vector<std::string> arguments, const Hook& hook) {
  const auto out = memory_file("out");
  const auto err = memory_file("err");
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error{"cannot fork"};
  if (child == 0) {
    std::optional<fs::sys::ScopedHook> installed;
    if (hook) installed.emplace(hook);
    Stop stop;
    cli::Io io;
    io.out = ui::fd_stream(out.get());
    io.err = ui::fd_stream(err.get());
    io.getenv = looker({});
    io.clock = &system_clock();
    io.stop = &stop;
    ::_exit(cli::run(std::move(arguments), std::move(io)));
  }
  return outcome_of(wait_for(child), out, err);
}

Program::Program(const std::vector<std::string>& arguments, const Environment& environment,
                 const std::vector<std::string>& wrapper)
    : out_{memory_file("out")}, err_{memory_file("err")} {
  auto words = wrapper;
  words.emplace_back(DECANT_PROGRAM);
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> settings{"PATH=/usr/bin:/bin"};
  for (const auto& [name, value] : environment) settings.push_back(name + "=" + value);
  for (const char* options : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"})
    if (const char* value = std::getenv(options)) settings.push_back(fmt::format("{}={}", options, value));

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out_.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err_.get(), STDERR_FILENO);
  const int error = ::posix_spawnp(&pid_, words.front().c_str(), &actions, nullptr, pointers(words).data(),
                                   pointers(settings).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error{"cannot start " + words.front()};
}

Program::~Program() {
  if (status_) return;
  ::kill(pid_, SIGKILL);
  reap(0);
}

void Program::send(int signal) const {
  if (!status_) ::kill(pid_, signal);
}

bool Program::reap(int options) {
  if (status_) return true;
  int status = 0;
  rusage usage{};
  pid_t got = 0;
  do got = ::wait4(pid_, &status, options, &usage);
  while (got < 0 && errno == EINTR);
  if (got != pid_) return false;
  status_ = status;
  peak_kib_ = usage.ru_maxrss;
  return true;
}

bool Program::has_ended() {
  return reap(WNOHANG);
}

void Program::wait_stopped() const {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOWAIT) != 0 && errno == EINTR) {
  }
}

Outcome Program::wait() {
  reap(0);
  return outcome_of(*status_, out_, err_);
}

Outcome run_program(const std::vector<std::string>& arguments, const Environment& environment) {
  return Program{arguments, environment}.wait();
}

HubProcess::HubProcess(const std::function<void(TestHub&)>& fill) {
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0)
    throw std::runtime_error{"cannot make a pipe"};
  std::fflush(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error{"cannot fork"};
  if (pid_ == 0) {
    ::close(to[1]);
    ::close(from[0]);
    try {
      TestHub hub;
      fill(hub);
      char what = 0;
      while (::read(to[0], &what, 1) == 1) {
        const auto answer = (what == 'e' ? hub.endpoint() : std::to_string(hub.counters().bytes_cdn)) + "\n";
        if (::write(from[1], answer.data(), answer.size()) < 0) break;
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "the hub's process: %s\n", error.what());
      ::_exit(1);
    }
    ::_exit(0);
  }
  ::close(to[0]);
  ::close(from[1]);
  to_ = Fd{to[1]};
  from_ = Fd{from[0]};
  endpoint_ = ask('e');
}

HubProcess::~HubProcess() {
  to_.close();
  wait_for(pid_);
}

std::string HubProcess::ask(char what) const {
  if (::write(to_.get(), &what, 1) != 1) throw std::runtime_error{"the hub is gone"};
  std::string line;
  for (char c = 0; ::read(from_.get(), &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

std::uint64_t HubProcess::bytes_served() const {
  return std::stoull(ask('b'));
}

bool wait_until(const std::function<bool()>& is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

std::chrono::steady_clock::time_point CountingClock::now() const {
  return std::chrono::steady_clock::now() + slept();
}

void CountingClock::sleep(std::chrono::milliseconds duration, const Stop& stop) {
  stop.throw_if_requested();
  slept_ms_ += duration.count();
}

std::uint64_t seed_of_this_run() {
  const char* given = std::getenv("DECANT_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  fmt::print("DECANT_SEED={}\n", seed);
  return seed;
}

unsigned long soak_factor() {
  const char* given = std::getenv("DECANT_SOAK");
  return given != nullptr ? std::max(1UL, std::stoul(given)) : 1;
}

}  // namespace decant::test
