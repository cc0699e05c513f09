// SPDX-License-Identifier: Apache-2.0
#include "support/test_hub.hpp"

#include <exception>
#include <limits>
#include <optional>
#include <utility>

#include "support/hub/http_server.hpp"
#include "support/hub/response_sender.hpp"
#include "support/hub/state.hpp"

namespace decant::test {
namespace {

FaultSubject subject_of(Where where, const HttpRequest& request, const std::string& path,
                        const std::string& file) {
  FaultSubject subject{.where = where, .method = request.method, .path = path, .file = file};
  subject.last = std::numeric_limits<std::uint64_t>::max();
  if (const auto range = parse_range(request.header("range")); range && range->first) {
    subject.first = *range->first;
    if (range->last) subject.last = *range->last;
  }
  return subject;
}

LoggedRequest log_entry(Where where, const Connection& connection, const HttpRequest& request) {
  return {.where = where,
          .connection = connection.number(),
          .method = request.method,
          .target = request.target,
          .path = percent_decode(request.raw_path()),
          .file = file_of(where, request),
          .range = std::string{request.header("range")},
          .has_authorization = request.has_header("authorization"),
          .authorization = std::string{request.header("authorization")},
          .headers = request.headers,
          .body = request.body};
}

void apply_to_head(const Fault& fault, HttpResponse& response) {
  if (!fault.redirect_to.empty()) {
    response.status = fault.status.value_or(302);
    response.set("Location", fault.redirect_to);
    response.body = std::string{};
  }
  for (const auto& [name, value] : fault.headers) response.set(name, value);
}

}  // namespace

struct TestHub::Impl {
  HubState state;
  RequestLog log;
  FaultRules faults;
  Pacer total;
  std::atomic<std::uint64_t> rate_per_connection{0};
  std::atomic<std::uint64_t> connection_numbers{0};
  std::optional<HttpServer> hub;
  std::optional<HttpServer> cdn;

  HttpServer& server(Where where) { return where == Where::cdn ? *cdn : *hub; }

  HttpServer::Handlers handlers(Where where) {
    return {.opened = [this, where] { log.connection_opened(where); },
            .closed = [this, where] { log.connection_closed(where); },
            .serve = [this, where](Connection& connection,
                                   const HttpRequest& request) { return serve(where, connection, request); }};
  }

  HttpServer::Then serve(Where where, Connection& connection, const HttpRequest& request) {
    LoggedRequest entry = log_entry(where, connection, request);
    const auto fault = faults.match(subject_of(where, request, entry.path, entry.file));
    const auto token = log.begin(std::move(entry));
    if (fault) {
      if (fault->then) fault->then();
      if (fault->delay.count() > 0 && connection.sleep(fault->delay) != Connection::Slept::over) {
        return HttpServer::Then::close;
      }
      if (fault->refuse_for.count() > 0) {
        server(where).refuse(fault->refuse_for);
        return HttpServer::Then::close;
      }
      if (!fault->raw.empty()) {
        connection.send(fault->raw);
        return HttpServer::Then::close;
      }
      if (fault->close_before_answer) {
        if (fault->cut == CutWith::reset) connection.reset();
        return HttpServer::Then::close;
      }
    }
    ResponseSender sender{connection, log, token, fault.get(), total, rate_per_connection};
    return sender.send(request, answer(where, request, fault.get()));
  }

  HttpResponse answer(Where where, HttpRequest request, const Fault* fault) {
    if (fault && fault->status && fault->redirect_to.empty()) {
      HttpResponse scripted{.status = *fault->status, .body = fault->body};
      scripted.set("X-Request-Id", "Root=1-" + std::to_string(state.next_request_id++) + "-fault");
      apply_to_head(*fault, scripted);
      return scripted;
    }
    if (fault && fault->ignore_range) {
      std::erase_if(request.headers, [](const auto& header) { return same_name(header.first, "range"); });
    }
    HttpResponse response;
    try {
      response = where == Where::cdn ? answer_cdn(state, request, fault) : answer_hub(state, request, fault);
    } catch (const std::exception& error) {  // a mistake in a test's data: say so to the client
      response = hub_error(500, "", error.what());
    }
    if (fault) apply_to_head(*fault, response);
    return response;
  }
};

TestHub::TestHub() : impl_{std::make_unique<Impl>()} {
  impl_->cdn.emplace(impl_->handlers(Where::cdn), impl_->connection_numbers);
  impl_->hub.emplace(impl_->handlers(Where::hub), impl_->connection_numbers);
  impl_->state.cdn_origin = impl_->cdn->origin();
  impl_->state.endpoint = impl_->hub->origin();
  impl_->cdn->start();
  impl_->hub->start();
}

// Both servers end before what their threads use.
TestHub::~TestHub() {
  impl_->hub.reset();
  impl_->cdn.reset();
}

std::string TestHub::endpoint() const {
  return impl_->state.endpoint;
}
std::string TestHub::cdn_origin() const {
  return impl_->state.cdn_origin;
}

void TestHub::set_origins(const std::string& hub, const std::string& cdn) {
  impl_->state.endpoint = hub;
  impl_->state.cdn_origin = cdn;
}

TestRepo& TestHub::add_repo(RepoOptions options) {
  return impl_->state.add_repo(std::move(options));
}
void TestHub::add_token(const std::string& token, TokenKind kind) {
  impl_->state.add_token(token, kind);
}
void TestHub::drop_token(const std::string& token) {
  impl_->state.drop_token(token);
}

FaultRules::Id TestHub::add_fault(Fault fault) {
  return impl_->faults.add(std::move(fault));
}
std::uint64_t TestHub::fault_hits(FaultRules::Id id) const {
  return impl_->faults.hits(id);
}
void TestHub::clear_faults() {
  impl_->faults.clear();
}

void TestHub::refuse(Where where, std::chrono::milliseconds time) {
  if (where != Where::cdn) impl_->hub->refuse(time);
  if (where != Where::hub) impl_->cdn->refuse(time);
}

void TestHub::listen_again(Where where) {
  if (where != Where::cdn) impl_->hub->listen_again();
  if (where != Where::hub) impl_->cdn->listen_again();
}

void TestHub::drop_connections(Where where) {
  if (where != Where::cdn) impl_->hub->drop_connections();
  if (where != Where::hub) impl_->cdn->drop_connections();
}

void TestHub::set_url_lifetime(std::chrono::seconds lifetime, std::chrono::seconds age) {
  impl_->state.url_lifetime = lifetime.count();
  impl_->state.url_age = age.count();
}

void TestHub::expire_urls() {
  ++impl_->state.url_epoch;
}
void TestHub::advance_clock(std::chrono::seconds time) {
  impl_->state.clock_offset += time.count();
}
void TestHub::set_page_size(std::size_t entries) {
  impl_->state.page_size = entries;
}
void TestHub::set_page_origin(const std::string& origin) {
  impl_->state.set_page_origin(origin);
}
void TestHub::set_max_unranged(std::uint64_t bytes) {
  impl_->state.max_unranged = bytes;
}

void TestHub::set_rate(std::uint64_t per_connection, std::uint64_t total) {
  impl_->rate_per_connection = per_connection;
  impl_->total.set_rate(total);
}

void TestHub::set_quota(std::uint64_t api, std::uint64_t resolvers) {
  impl_->state.set_quota(api, resolvers);
}

void TestHub::set_modelscope_errors_in_body(bool in_body) {
  impl_->state.modelscope_errors_in_body = in_body;
}

std::vector<LoggedRequest> TestHub::requests() const {
  return impl_->log.requests();
}
HubCounters TestHub::counters() const {
  return impl_->log.counters();
}
void TestHub::clear_log() {
  impl_->log.clear();
}

bool TestHub::wait_for(const std::function<bool(const HubCounters&)>& wanted,
                       std::chrono::milliseconds limit) const {
  return impl_->log.wait_for(wanted, limit);
}

}  // namespace decant::test
