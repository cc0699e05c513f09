// SPDX-License-Identifier: Apache-2.0
#include "mirror_source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "answers.hpp"
#include "decant/base/text.hpp"
#include "decant/net/retry.hpp"

namespace decant::source {
namespace {

constexpr std::size_t k_error_page_limit = 64 * k_kib;  // read on, so that the connection can be used again

ReadOutcome ended(ReadEnd end, Problem problem) {
  return {.end = end, .problem = std::move(problem)};
}

}  // namespace

struct MirrorSource::Attempt {
  ReadOutcome outcome;
  bool has_object = false;  // a body of the right size began, or would have
  bool not_found = false;
  bool forbidden = false;
  // Something else lies under the name, if only a page that is sent for every name.
  bool is_other() const { return outcome.end == ReadEnd::wrong_object; }
};

// One read: hops from the mirror's own address to the bytes.
class MirrorSource::Reading {
 public:
  Reading(MirrorSource& mirror, const Object& object, ByteRange range, ByteSink& sink, const Stop& stop)
      : mirror_{mirror}, object_{object}, range_{range}, sink_{sink}, stop_{stop} {}

  Attempt run(net::Url start) {
    net::Request request{.url = std::move(start)};
    request.range = range_;
    for (int hops = 0;; ++hops) {
      verdict_.reset();
      has_body_ = false;
      other_bytes_ = 0;
      const net::Outcome outcome = perform(request);
      if (verdict_) {
        const bool is_there = verdict_->end == ReadEnd::range_ignored;
        return {.outcome = std::move(*verdict_), .has_object = is_there};
      }
      if (has_body_) return {.outcome = close(outcome), .has_object = true};
      if (!answered(outcome) || !is_redirect(outcome.head.status)) return refused(outcome);
      NextHop next = next_hop(request.url, outcome.head.header("location"), mirror_.base_, hops);
      if (!next.url) return {.outcome = ended(ReadEnd::failed, bad_redirect(next.refusal))};
      request.url = std::move(*next.url);
    }
  }

 private:
  net::Outcome perform(const net::Request& request) {
    const net::BodySink body{
        .on_head = [&](const net::ResponseHead& head) { return on_head(head); },
        .on_body = [&](Bytes bytes) { return has_body_ ? on_content(bytes) : on_other(bytes); }};
    return mirror_.transport_.perform(request, body, stop_);
  }

  bool on_head(const net::ResponseHead& head) {
    if (head.status != 200 && head.status != 206 && head.status != 416) return true;
    BodyVerdict verdict = judge_body(head, object_, range_, mirror_.name());
    if (verdict.end != ReadEnd::complete) {
      verdict_ = ended(verdict.end, std::move(verdict.problem));
      return false;
    }
    has_body_ = true;
    stop_when_full_ = !verdict.exact_length;
    return true;
  }

  bool on_content(Bytes bytes) {
    const std::uint64_t wanted = range_.length - received_;
    const Bytes ours = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), wanted)));
    if (!ours.empty()) sink_.write(ours);
    received_ += ours.size();
    const bool full = received_ == range_.length;
    return !(full && (stop_when_full_ || ours.size() < bytes.size()));
  }

  bool on_other(Bytes bytes) {
    other_bytes_ += bytes.size();
    return other_bytes_ <= k_error_page_limit;
  }

  ReadOutcome close(const net::Outcome& outcome) const {
    ReadOutcome result{.received = received_};
    if (received_ == range_.length) return result;
    result.end = ReadEnd::interrupted;
    net::Outcome why = outcome;
    if (why.end == net::TransferEnd::complete) {
      why.end = net::TransferEnd::cut;
      why.detail = "the body ended early";
    }
    result.problem = mirror_refusal(object_.path.str(), mirror_.name(), why);
    return result;
  }

  // An answer without the bytes.
  Attempt refused(const net::Outcome& outcome) const {
    Attempt attempt;
    attempt.outcome = ended(ReadEnd::failed, mirror_refusal(object_.path.str(), mirror_.name(), outcome));
    if (net::judge(outcome) == net::Judgement::retry) {
      attempt.outcome.end = ReadEnd::interrupted;
      attempt.outcome.server_wait = net::server_wait(outcome.head, mirror_.clock_.wall_seconds());
    } else if (answered(outcome)) {
      const int status = outcome.head.status;
      attempt.not_found = status == 404 || status == 410;
      attempt.forbidden = status == 403;
    }
    return attempt;
  }

  Problem bad_redirect(const std::string& refusal) const {
    return {.kind = ErrorKind::access,
            .thing = fmt::format("{}: the mirror {} answers with a redirect that is not followed",
                                 escape_for_display(object_.path.str()), mirror_.name()),
            .expected = fmt::format(
                "at most {} redirects, none from https to http or unencrypted to another host", k_most_hops),
            .found = refusal,
            .hint = "name the address that it leads to, if you trust it"};
  }

  static bool answered(const net::Outcome& outcome) {
    return outcome.end == net::TransferEnd::complete || outcome.end == net::TransferEnd::sink_stopped;
  }

  MirrorSource& mirror_;
  const Object& object_;
  ByteRange range_;
  ByteSink& sink_;
  const Stop& stop_;
  std::optional<ReadOutcome> verdict_;  // of the hop that runs; set: the read is over
  bool has_body_ = false;
  bool stop_when_full_ = false;
  std::uint64_t other_bytes_ = 0;
  std::uint64_t received_ = 0;
};

net::Url MirrorSource::url_of(const Object& object, Form form) const {
  const std::string hex = object.digest.hex();
  const std::string path =
      form == Form::by_path
          ? net::percent_encode(object.path.str(), net::Slash::keep)
          : fmt::format("{}/{}/{}", to_string(object.digest.algorithm()), hex.substr(0, 2), hex);
  return {.origin = base_.origin, .path_and_query = base_.prefix + "/" + path};
}

MirrorSource::Attempt MirrorSource::try_form(const Object& object, ByteRange range, ByteSink& sink,
                                             const Stop& stop, Form form) {
  Attempt attempt = Reading{*this, object, range, sink, stop}.run(url_of(object, form));
  if (attempt.has_object) answered_ = form;
  return attempt;
}

ReadOutcome MirrorSource::read(const Object& object, ByteRange range, ByteSink& sink, const Stop& stop) {
  if (range.length == 0) return {};
  const Form known = answered_;
  const Form first_form = known == Form::by_path ? Form::by_path : Form::by_digest;
  const Form second_form = first_form == Form::by_path ? Form::by_digest : Form::by_path;
  Attempt first = try_form(object, range, sink, stop, first_form);
  const bool is_elsewhere =
      first.not_found || first.forbidden || (first.is_other() && known == Form::unknown);
  if (!is_elsewhere) return std::move(first.outcome);
  Attempt second = try_form(object, range, sink, stop, second_form);
  if (!second.not_found && !second.forbidden) return std::move(second.outcome);
  if (first.is_other()) return std::move(first.outcome);
  // Some storage says 403 of what is not there. A mirror that says nothing else is closed to us.
  if (first.forbidden && second.forbidden && known == Form::unknown) return std::move(second.outcome);
  return ended(
      ReadEnd::absent,
      {.kind = ErrorKind::access,
       .thing = fmt::format("{} is not on the mirror {}", escape_for_display(object.path.str()), name()),
       .expected = fmt::format("{}, or the path in the repo", url_of(object, Form::by_digest).redacted()),
       .found = "HTTP 404",
       .hint = "check the address, and that the mirror holds the whole release"});
}

std::unique_ptr<Source> open_mirror(MirrorBase base, net::Transport& transport, Clock& clock) {
  return std::make_unique<MirrorSource>(std::move(base), transport, clock);
}

}  // namespace decant::source
