// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "decant/ui/ui.hpp"
#include "progress_view.hpp"
#include "rate.hpp"

namespace decant::ui {

// All of the console but its ticker thread: tests call tick() with a time of their own.
class ConsoleCore final : public Console, private progress::Reporter {
 public:
  ConsoleCore(std::unique_ptr<Stream> out, std::unique_ptr<Stream> err, ConsoleOptions options);

  // Draws or prints what is due at `now`. Does nothing once progress has ended.
  void tick(std::chrono::steady_clock::time_point now);
  ProgressMode progress_mode() const { return mode_; }

  progress::Reporter& reporter() override { return *this; }
  void end_progress() override;
  void out(std::string_view text) override;
  void err(std::string_view text) override;
  bool json() const override { return options_.json; }
  bool quiet() const override { return options_.quiet; }
  bool color_out() const override { return color_out_; }
  bool color_err() const override { return color_err_; }
  void print_problem(const Problem& problem) override;
  bool has_lost_results() const override { return out_->has_lost_text(); }

 private:
  void totals(std::uint64_t bytes_to_fetch, std::uint64_t bytes_present) override;
  std::shared_ptr<progress::PartCounters> part(std::string_view name, std::uint64_t bytes_total) override;
  void message(progress::Level level, std::string_view text) override;
  void waiting(std::string_view what) override;
  void problem(const Problem& problem) override { print_problem(problem); }
  void finding(std::string_view text) override;
  void phase(std::string_view name) override;

  // All below: with the mutex held.
  Snapshot take_snapshot(std::chrono::steady_clock::time_point now);
  void print_above(std::string_view text);
  void print_event(std::string_view event, std::string_view level, std::string_view text);
  void erase_bar();
  void draw_bar(const std::vector<std::string>& lines);

  const std::unique_ptr<Stream> out_;
  const std::unique_ptr<Stream> err_;
  const ConsoleOptions options_;
  const ProgressMode mode_;
  const bool color_out_;
  const bool color_err_;

  mutable std::mutex mutex_;
  bool ended_ = false;
  std::string phase_;
  std::string waiting_;
  std::uint64_t bytes_total_ = 0;
  std::uint64_t findings_ = 0;
  std::vector<std::shared_ptr<progress::PartCounters>> parts_;
  RateMeter rate_;
  std::optional<std::chrono::steady_clock::time_point> last_line_;
  std::vector<std::string> drawn_;  // the bar as it stands on the terminal
};

}  // namespace decant::ui
