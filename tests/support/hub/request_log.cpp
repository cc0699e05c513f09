// SPDX-License-Identifier: Apache-2.0
#include "support/hub/request_log.hpp"

#include <algorithm>
#include <utility>

namespace decant::test {

LoggedRequest* RequestLog::find(const Token& token) {
  return token.epoch == epoch_ && token.index < requests_.size() ? &requests_[token.index] : nullptr;
}

RequestLog::Token RequestLog::begin(LoggedRequest request) {
  const std::lock_guard lock{mutex_};
  const Token token{.index = requests_.size(), .where = request.where, .epoch = epoch_};
  ++(request.where == Where::cdn ? counters_.requests_cdn : counters_.requests_hub);
  ++counters_.by_path[request.path];
  changed_.notify_all();
  if (requests_.size() >= k_keep) return {.index = k_keep, .where = token.where, .epoch = epoch_};
  requests_.push_back(std::move(request));
  return token;
}

void RequestLog::set_status(const Token& token, int status) {
  const std::lock_guard lock{mutex_};
  if (LoggedRequest* request = find(token)) request->status = status;
}

void RequestLog::add_sent(const Token& token, std::int64_t bytes) {
  const std::lock_guard lock{mutex_};
  if (token.epoch != epoch_) return;
  if (LoggedRequest* request = find(token)) request->body_sent += static_cast<std::uint64_t>(bytes);
  (token.where == Where::cdn ? counters_.bytes_cdn : counters_.bytes_hub) +=
      static_cast<std::uint64_t>(bytes);
  changed_.notify_all();
}

void RequestLog::finish(const Token& token, bool complete) {
  const std::lock_guard lock{mutex_};
  if (LoggedRequest* request = find(token)) request->complete = complete;
  changed_.notify_all();
}

void RequestLog::connection_opened(Where where) {
  const std::lock_guard lock{mutex_};
  if (where == Where::cdn) {
    ++counters_.connections_cdn;
    counters_.peak_cdn = std::max(counters_.peak_cdn, ++counters_.open_cdn);
  } else {
    ++counters_.connections_hub;
  }
  changed_.notify_all();
}

void RequestLog::connection_closed(Where where) {
  const std::lock_guard lock{mutex_};
  if (where == Where::cdn) --counters_.open_cdn;
  changed_.notify_all();
}

std::vector<LoggedRequest> RequestLog::requests() const {
  const std::lock_guard lock{mutex_};
  return requests_;
}

HubCounters RequestLog::counters() const {
  const std::lock_guard lock{mutex_};
  return counters_;
}

void RequestLog::clear() {
  const std::lock_guard lock{mutex_};
  ++epoch_;
  requests_.clear();
  const auto open = counters_.open_cdn;
  counters_ = {};
  counters_.open_cdn = counters_.peak_cdn = open;
}

bool RequestLog::wait_for(const std::function<bool(const HubCounters&)>& wanted,
                          std::chrono::milliseconds limit) const {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, limit, [&] { return wanted(counters_); });
}

}  // namespace decant::test
