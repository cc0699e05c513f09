// SPDX-License-Identifier: Apache-2.0
#include "work_queue.hpp"

#include <fmt/format.h>

#include <utility>

namespace decant::restore {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds k_look_period = 250ms;
// A holder beats every 20 s. Going on without one that lives after all costs a second download, no more.
constexpr std::chrono::seconds k_silence = 120s;
constexpr std::chrono::seconds k_no_growth = 600s;

}  // namespace

WorkQueue::WorkQueue(std::size_t count, const Prepared& prepared, Look look, Name name)
    : p_{prepared}, look_{prepared.request.wait ? std::move(look) : Look{}}, name_{std::move(name)} {
  for (std::size_t i = 0; i < count; ++i) fresh_.push_back(i);
}

std::optional<std::size_t> WorkQueue::pop(std::deque<std::size_t>& items) {
  const std::lock_guard lock{mutex_};
  if (is_closed_ || items.empty()) return std::nullopt;
  const auto index = items.front();
  items.pop_front();
  return index;
}

std::optional<WorkQueue::Item> WorkQueue::next() {
  for (;;) {
    p_.stop().throw_if_requested();
    auto index = pop(fresh_);
    const bool is_fresh = index.has_value();
    if (!is_fresh) index = pop(claimed_);
    if (!index) return std::nullopt;
    if (!look_) return Item{*index, Others::ignore};
    if (!is_fresh) wait_for_look(*index);
    const auto claim = look_(*index);
    if (!claim) return hand_out(*index, Others::yield);
    note(*index, *claim);
    if (!is_fresh && (stands_still(*index) || is_limit_over())) {
      p_.reporter().message(progress::Level::info,
                            fmt::format("{}: not waiting any longer for {}", name_(*index), claim->holder));
      return hand_out(*index, Others::copy);
    }
    const std::lock_guard lock{mutex_};
    claimed_.push_back(*index);
  }
}

WorkQueue::Item WorkQueue::hand_out(std::size_t index, Others others) {
  if (is_waiting_.exchange(false)) p_.reporter().waiting("");
  return {index, others};
}

void WorkQueue::put_back(std::size_t index, const ClaimedByOther& other) {
  if (other.claim) note(index, *other.claim);
  const std::lock_guard lock{mutex_};
  (other.claim ? claimed_ : fresh_).push_back(index);
}

void WorkQueue::close() {
  const std::lock_guard lock{mutex_};
  is_closed_ = true;
}

void WorkQueue::note(std::size_t index, const cache::Claim& claim) {
  const auto now = p_.services.clock->now();
  bool is_news = false;
  {
    const std::lock_guard lock{mutex_};
    Watch& watch = watches_[index];
    is_news = !watch.claim || watch.claim->holder != claim.holder;
    const bool has_grown = is_news || watch.claim->record != claim.record;
    if (has_grown) watch.growth = now;
    if (has_grown || watch.claim->beat != claim.beat) watch.sign = now;
    watch.looked = now;
    watch.claim = claim;
  }
  if (is_news)
    p_.reporter().message(progress::Level::info, fmt::format("{}: {} brings it, {} so far", name_(index),
                                                             claim.holder, format_size(claim.landed_bytes)));
}

bool WorkQueue::stands_still(std::size_t index) {
  const auto now = p_.services.clock->now();
  const std::lock_guard lock{mutex_};
  const Watch& watch = watches_[index];
  return now - watch.sign >= k_silence || now - watch.growth >= k_no_growth;
}

bool WorkQueue::is_limit_over() {
  const auto now = p_.services.clock->now();
  const std::lock_guard lock{mutex_};
  if (!waiting_since_) waiting_since_ = now;
  return p_.request.wait_limit && now - *waiting_since_ >= *p_.request.wait_limit;
}

void WorkQueue::wait_for_look(std::size_t index) {
  std::chrono::milliseconds left{};
  std::string holder;
  {
    const auto now = p_.services.clock->now();
    const std::lock_guard lock{mutex_};
    const Watch& watch = watches_[index];
    if (!waiting_since_) waiting_since_ = now;
    left = std::chrono::ceil<std::chrono::milliseconds>(watch.looked + k_look_period - now);
    if (watch.claim)
      holder = fmt::format("{} ({} so far)", watch.claim->holder, format_size(watch.claim->landed_bytes));
  }
  if (left.count() <= 0) return;
  is_waiting_ = true;
  p_.reporter().waiting(fmt::format("{}, which {} brings", name_(index), holder));
  p_.services.clock->sleep(left, p_.stop());
}

}  // namespace decant::restore
