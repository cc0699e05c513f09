// SPDX-License-Identifier: Apache-2.0
#include "decant/progress/reporter.hpp"

namespace decant::progress {
namespace {

class SilentReporter final : public Reporter {
 public:
  void totals(std::uint64_t /*bytes_to_fetch*/, std::uint64_t /*bytes_present*/) override {}
  std::shared_ptr<PartCounters> part(std::string_view name, std::uint64_t bytes_total) override {
    auto counters = std::make_shared<PartCounters>();
    counters->name = std::string{name};
    counters->bytes_total = bytes_total;
    return counters;
  }
  void message(Level /*level*/, std::string_view /*text*/) override {}
  void waiting(std::string_view /*what*/) override {}
  void problem(const Problem& /*problem*/) override {}
  void finding(std::string_view /*text*/) override {}
  void phase(std::string_view /*name*/) override {}
};

}  // namespace

std::string_view to_string(PartPhase phase) noexcept {
  switch (phase) {
    case PartPhase::waiting:
      return "waiting";
    case PartPhase::fetching:
      return "fetching";
    case PartPhase::unpacking:
      return "unpacking";
    case PartPhase::staged:
      return "staged";
    case PartPhase::publishing:
      return "publishing";
    case PartPhase::done:
      return "done";
    case PartPhase::failed:
      return "failed";
    case PartPhase::conflict:
      return "conflict";
  }
  return "waiting";
}

Reporter& silent_reporter() {
  static SilentReporter reporter;
  return reporter;
}

}  // namespace decant::progress
