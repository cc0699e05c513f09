// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "decant/base/text.hpp"
#include "prepared.hpp"

namespace decant::restore {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds k_look_period = 250ms;

// Until nobody else works on the bundle. False when the limit was over first.
class BundleWait {
 public:
  BundleWait(const Request& request, const Services& services)
      : request_{request}, services_{services}, started_{services.clock->now()} {}

  bool wait() {
    std::string told;
    for (;;) {
      const auto bundle = state::Bundle::open_if_there(request_.bundle);
      const auto holder = bundle ? bundle->holder() : std::nullopt;
      if (!holder) break;
      if (is_over()) return false;
      if (*holder != told)
        services_.reporter->message(progress::Level::info,
                                    fmt::format("{}: {} works on this bundle; waiting until it is done",
                                                escape_for_display(request_.bundle), *holder));
      told = *holder;
      services_.reporter->waiting(fmt::format("the bundle, on which {} works", *holder));
      services_.clock->sleep(k_look_period, *services_.stop);
    }
    if (!told.empty()) services_.reporter->waiting("");
    return true;
  }

  bool is_over() const {
    return request_.wait_limit && services_.clock->now() - started_ >= *request_.wait_limit;
  }

 private:
  const Request& request_;
  const Services& services_;
  const std::chrono::steady_clock::time_point started_;
};

}  // namespace

report::Result restore_in_turn(const Request& request, const Services& services) {
  BundleWait others{request, services};
  for (;;) {
    const bool in_time = !request.wait || others.wait();
    auto prepared = prepare(request, services);
    auto result = run_restore(*prepared);
    const bool is_busy = std::ranges::any_of(
        result.problems, [](const Problem& problem) { return problem.kind == ErrorKind::busy; });
    // Somebody else began between our look and our claim, or the limit is over: then it is as without --wait.
    if (!request.wait || !in_time || !is_busy || others.is_over()) return result;
    prepared.reset();
    services.clock->sleep(k_look_period, *services.stop);
  }
}

}  // namespace decant::restore
