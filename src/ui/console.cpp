// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <condition_variable>
#include <thread>

#include "console_core.hpp"
#include "decant/base/text.hpp"
#include "decant/model/json.hpp"
#include "paint.hpp"
#include "width.hpp"

namespace decant::ui {
namespace {

using Time = std::chrono::steady_clock::time_point;

constexpr std::chrono::seconds k_plain_period{10};
constexpr std::chrono::seconds k_json_period{1};
constexpr std::chrono::milliseconds k_tick{100};
constexpr std::uint64_t k_findings_shown = 20;

ProgressMode resolve(const ConsoleOptions& options, const Stream& err) {
  ProgressMode mode = options.progress;
  if (mode == ProgressMode::automatic) mode = options.quiet ? ProgressMode::none : ProgressMode::bar;
  // A bar needs a cursor to move: anywhere else it becomes plain lines.
  if (mode == ProgressMode::bar && !err.is_terminal()) mode = ProgressMode::plain;
  return mode;
}

bool resolve_color(const ConsoleOptions& options, const Stream& stream) {
  if (options.color == ColorMode::always) return true;
  return options.color == ColorMode::automatic && stream.is_terminal() && !options.no_color_env;
}

// Messages are made of our words and escaped names already; this is the last guard, and keeps their '\' as it
// is.
std::string safe(std::string_view text) {
  std::string result;
  for (const std::string& line : split(text, '\n')) {
    if (!result.empty()) result += '\n';
    result += has_control_characters(line) || !is_valid_utf8(line) ? escape_for_display(line) : line;
  }
  return result;
}

std::string with_newline(std::string text) {
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::string_view level_word(progress::Level level) {
  switch (level) {
    case progress::Level::detail:
      return "detail";
    case progress::Level::info:
      return "info";
    case progress::Level::warning:
      break;
  }
  return "warning";
}

}  // namespace

ConsoleCore::ConsoleCore(std::unique_ptr<Stream> out, std::unique_ptr<Stream> err, ConsoleOptions options)
    : out_{std::move(out)},
      err_{std::move(err)},
      options_{options},
      mode_{resolve(options, *err_)},
      color_out_{resolve_color(options, *out_)},
      color_err_{resolve_color(options, *err_)} {}

void ConsoleCore::tick(Time now) {
  std::lock_guard lock{mutex_};
  if (ended_ || mode_ == ProgressMode::none) return;
  const Snapshot snapshot = take_snapshot(now);
  if (parts_.empty() && bytes_total_ == 0 && waiting_.empty()) return;
  if (mode_ == ProgressMode::bar) {
    draw_bar(bar_lines(snapshot, err_->columns()));
    return;
  }
  if (!last_line_) last_line_ = now;  // a command that is over soon prints no line at all
  if (now - *last_line_ < (mode_ == ProgressMode::json ? k_json_period : k_plain_period)) return;
  last_line_ = now;
  err_->write((mode_ == ProgressMode::json ? json_line(snapshot) : plain_line(snapshot)) + '\n');
}

Snapshot ConsoleCore::take_snapshot(Time now) {
  Snapshot snapshot{.phase = phase_, .bytes_total = bytes_total_, .waiting = waiting_, .findings = findings_};
  std::uint64_t network = 0;
  std::uint64_t part_totals = 0;
  for (const auto& counters : parts_) {
    snapshot.parts.push_back({.name = counters->name,
                              .phase = counters->phase.load(),
                              .bytes_total = counters->bytes_total,
                              .bytes_done = counters->bytes_done.load(),
                              .bytes_unpacked = counters->bytes_unpacked.load(),
                              .entries_done = counters->entries_done.load()});
    snapshot.bytes_done += snapshot.parts.back().bytes_done;
    part_totals += counters->bytes_total;
    network += counters->bytes_from_network.load();
  }
  if (snapshot.bytes_total == 0) snapshot.bytes_total = part_totals;
  // Without a network byte the work is local: its own speed is what tells when it ends.
  rate_.sample(now, network > 0 ? network : snapshot.bytes_done);
  snapshot.rate = rate_.bytes_per_second();
  return snapshot;
}

void ConsoleCore::draw_bar(const std::vector<std::string>& lines) {
  if (lines == drawn_) return;
  std::string text;
  if (!drawn_.empty()) text += fmt::format("\x1b[{}A", drawn_.size());
  text += "\r";
  for (const std::string& line : lines) text += line + "\x1b[K\n";
  text += "\x1b[J";
  err_->write(text);
  drawn_ = lines;
}

void ConsoleCore::erase_bar() {
  if (drawn_.empty()) return;
  err_->write(fmt::format("\x1b[{}A\r\x1b[J", drawn_.size()));
  drawn_.clear();
}

void ConsoleCore::print_above(std::string_view text) {
  const std::vector<std::string> bar = drawn_;
  erase_bar();
  err_->write(text);
  if (!bar.empty() && !ended_) draw_bar(bar);
}

void ConsoleCore::print_event(std::string_view event, std::string_view level, std::string_view text) {
  err_->write(fmt::format("{{\"event\":{},\"level\":{},\"text\":{}}}\n", model::json_quote(event),
                          model::json_quote(level), model::json_quote(text)));
}

void ConsoleCore::end_progress() {
  std::lock_guard lock{mutex_};
  ended_ = true;
  erase_bar();
}

void ConsoleCore::out(std::string_view text) {
  std::lock_guard lock{mutex_};
  // Both may be the same terminal: the bar must not stand in the middle of results.
  const std::vector<std::string> bar = drawn_;
  erase_bar();
  out_->write(text);
  if (!bar.empty() && !ended_ && text.ends_with('\n')) draw_bar(bar);
}

void ConsoleCore::err(std::string_view text) {
  std::lock_guard lock{mutex_};
  print_above(text);
}

void ConsoleCore::print_problem(const Problem& problem) {
  const std::string text = safe(with_newline(to_text(problem)));
  std::lock_guard lock{mutex_};
  if (mode_ == ProgressMode::json) {
    err_->write(report::problem_line(problem) + '\n');
    return;
  }
  const Paint paint{color_err_};
  print_above(paint.red("decant:") + ' ' + text);
}

void ConsoleCore::totals(std::uint64_t bytes_to_fetch, std::uint64_t bytes_present) {
  std::lock_guard lock{mutex_};
  bytes_total_ = bytes_to_fetch + bytes_present;
}

std::shared_ptr<progress::PartCounters> ConsoleCore::part(std::string_view name, std::uint64_t bytes_total) {
  auto counters = std::make_shared<progress::PartCounters>();
  counters->name = name;
  counters->bytes_total = bytes_total;
  std::lock_guard lock{mutex_};
  parts_.push_back(counters);
  return counters;
}

void ConsoleCore::message(progress::Level level, std::string_view text) {
  if (options_.quiet || (level == progress::Level::detail && options_.verbose == 0)) return;
  std::lock_guard lock{mutex_};
  if (mode_ == ProgressMode::json) {
    print_event("message", level_word(level), text);
    return;
  }
  const Paint paint{color_err_};
  const std::string head = level == progress::Level::warning ? paint.yellow("warning:") + ' ' : std::string{};
  print_above(head + with_newline(safe(text)));
}

void ConsoleCore::waiting(std::string_view what) {
  std::lock_guard lock{mutex_};
  waiting_ = safe(what);
}

void ConsoleCore::finding(std::string_view text) {
  std::lock_guard lock{mutex_};
  ++findings_;
  if (mode_ == ProgressMode::json) {
    print_event("message", "finding", text);
  } else if (!options_.quiet && findings_ <= k_findings_shown) {
    const Paint paint{color_err_};
    print_above(paint.red("finding:") + ' ' + with_newline(safe(text)));
    if (findings_ == k_findings_shown)
      print_above("further findings are counted here and listed at the end\n");
  }
}

void ConsoleCore::phase(std::string_view name) {
  std::lock_guard lock{mutex_};
  if (phase_ == name) return;
  phase_ = name;
  waiting_.clear();
  // Verify counts other bytes than what came before it: a bar of its own.
  if (name == "verify") {
    parts_.clear();
    bytes_total_ = 0;
    rate_ = RateMeter{};
  }
}

namespace {

// The core, and a thread that ticks it.
class TickingConsole final : public Console {
 public:
  TickingConsole(std::unique_ptr<ConsoleCore> core, Clock& clock) : core_{std::move(core)}, clock_{clock} {
    if (core_->progress_mode() != ProgressMode::none) thread_ = std::thread{[this] { run(); }};
  }
  ~TickingConsole() override { TickingConsole::end_progress(); }

  progress::Reporter& reporter() override { return core_->reporter(); }
  void end_progress() override {
    {
      std::lock_guard lock{mutex_};
      stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
    core_->end_progress();
  }
  void out(std::string_view text) override { core_->out(text); }
  void err(std::string_view text) override { core_->err(text); }
  bool json() const override { return core_->json(); }
  bool quiet() const override { return core_->quiet(); }
  bool color_out() const override { return core_->color_out(); }
  bool color_err() const override { return core_->color_err(); }
  void print_problem(const Problem& problem) override { core_->print_problem(problem); }
  bool has_lost_results() const override { return core_->has_lost_results(); }

 private:
  void run() {
    std::unique_lock lock{mutex_};
    while (!wake_.wait_for(lock, k_tick, [this] { return stop_; })) {
      lock.unlock();
      core_->tick(clock_.now());
      lock.lock();
    }
  }

  const std::unique_ptr<ConsoleCore> core_;
  Clock& clock_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<Console> make_console(std::unique_ptr<Stream> out, std::unique_ptr<Stream> err,
                                      ConsoleOptions options, Clock& clock) {
  return std::make_unique<TickingConsole>(
      std::make_unique<ConsoleCore>(std::move(out), std::move(err), options), clock);
}

}  // namespace decant::ui
