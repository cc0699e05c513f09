// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdlib>

#include "decant/cli/cli.hpp"

namespace {

decant::Stop g_stop;

// The first signal asks for an orderly stop, the second one ends at once.
void on_signal(int number) {
  if (g_stop.requested()) _exit(128 + number);
  g_stop.request(number);
}

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction before = {};
    sigaction(number, nullptr, &before);
    // nohup and background jobs of old shells ignore a signal on purpose.
    if (before.sa_handler != SIG_IGN) sigaction(number, &action, nullptr);
  }
  signal(SIGPIPE, SIG_IGN);  // a closed stdout never ends a restore
  signal(SIGXFSZ, SIG_IGN);  // a file size limit is an error of write(), like a full disk
}

}  // namespace

int main(int argc, char** argv) {
  install_signal_handlers();
  // libarchive converts PAX names through the locale's character set.
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) std::setlocale(LC_CTYPE, "");
  decant::cli::Io io;
  io.out = decant::ui::fd_stream(STDOUT_FILENO);
  io.err = decant::ui::fd_stream(STDERR_FILENO);
  io.getenv = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>{value};
  };
  io.clock = &decant::system_clock();
  io.stop = &g_stop;
  return decant::cli::run(std::vector<std::string>{argv + 1, argv + argc}, std::move(io));
}
