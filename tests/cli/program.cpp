// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "decant/base/fd.hpp"

namespace decant::test {
namespace {

constexpr uid_t k_nobody = 65534;

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (auto& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void become(int program, char** args, char** environment, const char* out, const char* err) {
  constexpr int k_flags = O_WRONLY | O_CREAT | O_TRUNC;
  ::dup2(::open(out, k_flags, 0644), STDOUT_FILENO);
  ::dup2(::open(err, k_flags, 0644), STDERR_FILENO);
  if (::geteuid() == 0) {
    if (::setgroups(0, nullptr) != 0 || ::setgid(k_nobody) != 0 || ::setuid(k_nobody) != 0) ::_exit(126);
  }
  ::fexecve(program, args, environment);
  ::_exit(127);
}

}  // namespace

Ran run_as_ordinary_user(World& world, const Args& args) {
  std::vector<std::string> words{"decant"};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<std::string> variables;
  for (const auto& [name, value] : world.env) variables.push_back(name + "=" + value);
  auto argv = pointers(words);
  auto envp = pointers(variables);
  const TempDir logs;
  const auto out = logs / "out";
  const auto err = logs / "err";
  // By descriptor: the ordinary user may not reach the directory that the program was built in.
  const Fd program{::open(DECANT_PROGRAM, O_RDONLY)};
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error{"cannot fork"};
  if (child == 0) become(program.get(), argv.data(), envp.data(), out.c_str(), err.c_str());
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status))
    throw std::runtime_error{"the program crashed"};
  return {.code = WEXITSTATUS(status), .out = read_file(out), .err = read_file(err)};
}

}  // namespace decant::test
