// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "decant/ui/ui.hpp"

namespace decant::ui {
namespace {

constexpr int k_usual_columns = 80;

class FdStream final : public Stream {
 public:
  explicit FdStream(int fd) : fd_{fd}, terminal_{::isatty(fd) == 1} {}

  void write(std::string_view text) override {
    while (!text.empty() && !silent_) {
      const ssize_t done = ::write(fd_, text.data(), text.size());
      if (done >= 0) {
        text.remove_prefix(static_cast<std::size_t>(done));
      } else if (errno == EAGAIN) {
        // Somebody else made the descriptor non-blocking: wait, but not for ever.
        pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
        if (::poll(&ready, 1, k_patience_ms) <= 0) lost_ = silent_ = true;
      } else if (errno != EINTR) {
        lost_ = errno != EPIPE;
        silent_ = true;  // nobody reads any more, or nothing can be written: the work goes on
      }
    }
  }

  bool has_lost_text() const override { return lost_; }

  bool is_terminal() const override { return terminal_; }

  int columns() const override {
    winsize size{};
    if (!terminal_ || ::ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return k_usual_columns;
    return size.ws_col;
  }

 private:
  static constexpr int k_patience_ms = 10'000;
  const int fd_;
  const bool terminal_;
  std::atomic<bool> silent_{false};
  std::atomic<bool> lost_{false};
};

}  // namespace

std::unique_ptr<Stream> fd_stream(int fd) {
  return std::make_unique<FdStream>(fd);
}

}  // namespace decant::ui
