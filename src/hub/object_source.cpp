// SPDX-License-Identifier: Apache-2.0
#include "object_source.hpp"

#include <algorithm>

#include "checks.hpp"
#include "redirect.hpp"
#include "signed_url.hpp"

namespace decant::hub {
namespace {

using source::ReadEnd;
using source::ReadOutcome;

constexpr int k_most_fresh_refusals = 3;
constexpr std::size_t k_error_page_limit = 64 * k_kib;  // read on, so that the connection can be used again
constexpr std::size_t k_error_text_limit = 4 * k_kib;
constexpr std::chrono::milliseconds k_wait_piece{50};

// A signed URL that ended, or that the storage does not take (any more).
bool is_storage_refusal(int status) {
  return status == 400 || status == 401 || status == 403 || status == 404 || status == 410;
}

ReadOutcome ended(ReadEnd end, Problem problem) {
  return {.end = end, .problem = std::move(problem)};
}

}  // namespace

// Where the bytes of one file are, shared by its readers.
struct ObjectSource::File {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Place> place;
  std::uint64_t places = 0;
  bool resolving = false;
  std::uint64_t attempts = 0;         // to find a place, ended
  std::optional<ReadOutcome> failed;  // how the last of them failed
  int fresh_refusals = 0;             // in a row, of places just found
  std::uint64_t last_use = 0;         // under ObjectSource::mutex_
};

// The duty of the one reader that looks for a place. Ends by found(), by failed(), or by an exception, after
// which the next reader takes over.
class ObjectSource::Resolving {
 public:
  explicit Resolving(std::shared_ptr<File> file) : file_{std::move(file)} {}
  Resolving(const Resolving&) = delete;
  Resolving& operator=(const Resolving&) = delete;
  ~Resolving() {
    if (!over_) end(std::nullopt, std::nullopt);
  }

  void found(Place place) { end(std::move(place), std::nullopt); }
  void failed(const ReadOutcome& outcome) { end(std::nullopt, outcome); }
  bool is_over() const { return over_; }
  // The place just found was refused; how often in a row by now.
  int refused() {
    std::lock_guard lock{file_->mutex};
    return ++file_->fresh_refusals;
  }

 private:
  void end(std::optional<Place> place, std::optional<ReadOutcome> failure) {
    over_ = true;
    std::lock_guard lock{file_->mutex};
    file_->resolving = false;
    ++file_->attempts;
    file_->failed = std::move(failure);
    if (place) {
      place->number = ++file_->places;
      file_->place = std::move(place);
      file_->fresh_refusals = 0;
    }
    file_->changed.notify_all();
  }

  std::shared_ptr<File> file_;
  bool over_ = false;
};

// One read: hops from a start to the bytes.
class ObjectSource::Reading {
 public:
  Reading(ObjectSource& source, const source::Object& object, ByteRange range, ByteSink& sink,
          const Stop& stop, Resolving* resolving)
      : source_{source}, object_{object}, range_{range}, sink_{sink}, stop_{stop}, resolving_{resolving} {}

  // True: the storage refused the place we were told of; a new one may help.
  bool place_refused() const { return place_refused_; }

  ReadOutcome run(net::Url start) {
    net::Request request = source_.host_.request(std::move(start));
    request.range = range_;
    for (int hops = 0;; ++hops) {
      hop_ = {};
      const net::Outcome outcome = perform(request);
      if (hop_.verdict) return std::move(*hop_.verdict);
      if (hop_.has_body) return close(request.url, outcome);
      if (!is_redirect(outcome.head.status) || !answered(outcome)) return refused(request.url, outcome);
      NextHop next = next_hop(request.url, outcome.head.header("location"), endpoint(), hops);
      if (!next.url) {
        return ended(ReadEnd::failed, redirect_refusal(question(), request.url, next.refusal));
      }
      request.url = std::move(*next.url);
    }
  }

 private:
  // What the callbacks found out about the hop that runs.
  struct Hop {
    std::optional<ReadOutcome> verdict;  // set: the read is over
    bool has_body = false;
    bool stop_when_full = false;
    std::uint64_t error_bytes = 0;
    std::string error_text;
  };

  const net::Origin& endpoint() const { return source_.host_.origin(); }
  Question question() const { return {.about = Question::About::file, .what = object_.path.str()}; }

  net::Outcome perform(const net::Request& request) {
    const net::BodySink body{
        .on_head = [&](const net::ResponseHead& head) { return on_head(request.url, head); },
        .on_body = [&](Bytes bytes) { return hop_.has_body ? on_content(bytes) : on_other(bytes); }};
    return source_.transport_.perform(request, body, stop_);
  }

  bool on_head(const net::Url& url, const net::ResponseHead& head) {
    const bool of_host = url.origin == endpoint();
    if (of_host) {
      if (auto problem = source_.host_.contradiction(head, object_)) {
        return over(ended(ReadEnd::wrong_object, std::move(*problem)));
      }
    }
    if (!served_from_ && !head.header("date").empty())
      served_from_ = net::parse_http_date(head.header("date"));
    if (head.status != 200 && head.status != 206) return true;
    if (of_host && source_.host_.is_error_page(head, object_)) return true;
    BodyVerdict verdict = judge_body(head, object_, range_, source_.host_.owner());
    if (verdict.end != ReadEnd::complete) return over(ended(verdict.end, std::move(verdict.problem)));
    hop_.has_body = true;
    hop_.stop_when_full = !verdict.exact_length;
    publish(url);
    return true;
  }

  bool over(ReadOutcome outcome) {
    hop_.verdict = std::move(outcome);
    return false;
  }

  void publish(const net::Url& url) {
    if (resolving_ == nullptr || resolving_->is_over()) return;
    Place place{.url = url};
    if (const auto life = usable_for(url, served_from_.value_or(source_.clock_.wall_seconds()))) {
      place.renew_at = source_.clock_.now() + *life;
    }
    resolving_->found(std::move(place));
  }

  bool on_content(Bytes bytes) {
    const std::uint64_t wanted = range_.length - received_;
    const Bytes ours = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), wanted)));
    if (!ours.empty()) sink_.write(ours);
    received_ += ours.size();
    const bool full = received_ == range_.length;
    return !(full && (hop_.stop_when_full || ours.size() < bytes.size()));
  }

  bool on_other(Bytes bytes) {
    const std::size_t room = k_error_text_limit - std::min(k_error_text_limit, hop_.error_text.size());
    hop_.error_text += as_text(bytes.first(std::min(room, bytes.size())));
    hop_.error_bytes += bytes.size();
    return hop_.error_bytes <= k_error_page_limit;
  }

  // After a body that was the right one to begin with.
  ReadOutcome close(const net::Url& url, const net::Outcome& outcome) {
    ReadOutcome result{.received = received_};
    if (received_ == range_.length) return result;
    result.end = ReadEnd::interrupted;
    net::Outcome why = outcome;
    if (why.end == net::TransferEnd::complete) {
      why.end = net::TransferEnd::cut;
      why.detail = "the body ended early";
    }
    result.problem = storage_refusal(question(), url, why);
    return result;
  }

  // An answer without the bytes.
  ReadOutcome refused(const net::Url& url, net::Outcome outcome) {
    const ByteHost& host = source_.host_;
    const bool of_host = url.origin == endpoint();
    if (of_host && answered(outcome)) host.translate(outcome, hop_.error_text);
    ReadOutcome result = ended(ReadEnd::failed, of_host ? host.refusal(object_, url, outcome, hop_.error_text)
                                                        : storage_refusal(question(), url, outcome));
    if (net::judge(outcome) == net::Judgement::retry) {
      result.end = ReadEnd::interrupted;
      result.server_wait = net::server_wait(outcome.head, source_.clock_.wall_seconds());
    } else if (outcome.head.status == 416) {
      result = ended(ReadEnd::wrong_object, out_of_range(object_, range_, outcome.head, host.owner()));
    } else if (answered(outcome) && is_storage_refusal(outcome.head.status) &&
               (!of_host || resolving_ == nullptr)) {
      place_refused_ = true;
      const bool hopeless = resolving_ != nullptr && resolving_->refused() >= k_most_fresh_refusals;
      result.end = hopeless ? ReadEnd::failed : ReadEnd::interrupted;
    }
    return result;
  }

  static bool answered(const net::Outcome& outcome) {
    return outcome.end == net::TransferEnd::complete || outcome.end == net::TransferEnd::sink_stopped;
  }

  ObjectSource& source_;
  const source::Object& object_;
  ByteRange range_;
  ByteSink& sink_;
  const Stop& stop_;
  Resolving* resolving_;
  Hop hop_;
  std::uint64_t received_ = 0;
  bool place_refused_ = false;
  std::optional<std::int64_t> served_from_;  // the host's clock when it answered
};

bool ObjectSource::is_usable(const Place& place) const {
  return !place.renew_at || clock_.now() < *place.renew_at;
}

std::shared_ptr<ObjectSource::File> ObjectSource::file_of(const std::string& path) {
  std::lock_guard lock{mutex_};
  auto& file = files_[path];
  if (!file) file = std::make_shared<File>();
  file->last_use = ++uses_;
  auto result = file;
  if (files_.size() > k_most_files) {
    const auto oldest = std::min_element(files_.begin(), files_.end(), [](const auto& a, const auto& b) {
      return a.second->last_use < b.second->last_use;
    });
    files_.erase(oldest);  // its readers keep it for as long as they need it
  }
  return result;
}

void ObjectSource::forget(const std::string& path) {
  std::lock_guard lock{mutex_};
  files_.erase(path);
}

ObjectSource::Turn ObjectSource::take_turn(const std::shared_ptr<File>& file, const Stop& stop) const {
  std::unique_lock lock{file->mutex};
  const std::uint64_t seen = file->attempts;
  for (;;) {
    if (file->place && is_usable(*file->place)) return {.place = file->place};
    if (!file->resolving) {
      if (file->attempts != seen && file->failed) return {.failure = file->failed};
      file->resolving = true;
      Turn turn;
      lock.unlock();
      turn.resolving = std::make_unique<Resolving>(file);
      return turn;
    }
    file->changed.wait_for(lock, k_wait_piece);
    stop.throw_if_requested();
  }
}

source::ReadOutcome ObjectSource::read(const source::Object& object, ByteRange range, ByteSink& sink,
                                       const Stop& stop) {
  if (range.length == 0) return {};
  const bool whole = range.offset == 0 && range.length == object.size;
  const auto file = file_of(object.path.str());
  for (bool renewed = false;; renewed = true) {
    const Turn turn = take_turn(file, stop);
    if (turn.failure) return *turn.failure;
    Reading reading{*this, object, range, sink, stop, turn.resolving.get()};
    ReadOutcome outcome = reading.run(turn.place ? turn.place->url : host_.address_of(object));
    if (turn.resolving && !turn.resolving->is_over()) turn.resolving->failed(outcome);
    if (turn.place && reading.place_refused()) {
      std::lock_guard lock{file->mutex};
      if (file->place && file->place->number == turn.place->number) file->place.reset();
      if (!renewed) continue;  // expired under way: a new place, and no pause
    }
    if (whole && outcome.end == ReadEnd::complete) forget(object.path.str());
    return outcome;
  }
}

}  // namespace decant::hub
