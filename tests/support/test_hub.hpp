// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/hub/faults.hpp"
#include "support/hub/repo.hpp"
#include "support/hub/request_log.hpp"

namespace decant::test {

// A Hugging Face hub on loopback: an HTTP/1.1 server of our own with two listeners, the hub and its CDN, on
// two ports and so of two origins. It speaks what restorers need (info, tree with pages, paths-info, resolve,
// redirects to signed URLs, ranges), answers errors as the real one does, misbehaves on request, and keeps a
// log. It shows the same repos as ModelScope does (lists, downloads, tokens as cookie or bearer), whose
// branch `master` is `main` until a commit is given that name: so a mirror that differs is one more
// add_commit().
//
//   TestHub hub;
//   auto& repo = hub.add_repo({.id = "org/name"});
//   const auto commit = repo.add_commit({{"README.md", "hi"}, {"a.tar.zst", bytes, Store::lfs}});
//   hub.add_fault({.where = Where::cdn, .path = "a.tar.zst", .cut_after = 1000});
//   … a client of hub.endpoint() …
//   CHECK(hub.counters().bytes_cdn == …); for (const auto& request : hub.requests()) …
//
// All members may be called while it serves. Destruction ends every connection at once.
class TestHub {
 public:
  TestHub();
  ~TestHub();
  TestHub(const TestHub&) = delete;
  TestHub& operator=(const TestHub&) = delete;

  std::string endpoint() const;    // http://127.0.0.1:PORT, the value for HF_ENDPOINT
  std::string cdn_origin() const;  // another port of the same host

  // The addresses that it is known by, behind something that hands requests on: in redirects, links and
  // endpoint(). Before the first request.
  void set_origins(const std::string& hub, const std::string& cdn);

  // Repos live as long as the hub.
  TestRepo& add_repo(RepoOptions options);

  // Tokens. One that was not added here or as accepted by a repo is invalid: 401, on public repos, too.
  enum class TokenKind : std::uint8_t {
    full,
    no_gated_repos
  };  // the second: fine-grained, 403 on gated repos
  void add_token(const std::string& token, TokenKind kind = TokenKind::full);
  void drop_token(const std::string& token);  // revoked

  // Faults: the first rule that fits and is not used up. The id asks how often it was applied.
  FaultRules::Id add_fault(Fault fault);
  std::uint64_t fault_hits(FaultRules::Id id) const;
  void clear_faults();
  // Connections are refused until listen_again(), or for a time; open ones are dropped.
  void refuse(Where where, std::chrono::milliseconds time = std::chrono::milliseconds{0});
  void listen_again(Where where);
  void drop_connections(Where where);

  // Signed URLs. `age`: the hub hands out URLs that were signed this many seconds ago.
  void set_url_lifetime(std::chrono::seconds lifetime, std::chrono::seconds age = std::chrono::seconds{0});
  void expire_urls();                             // every URL handed out so far is refused from now on
  void advance_clock(std::chrono::seconds time);  // of URL lives and rate limit windows

  // Shape.
  void set_page_size(std::size_t entries);          // of /tree; default 1000, and 50 with expand
  void set_page_origin(const std::string& origin);  // of Link URLs; default endpoint()
  void set_max_unranged(std::uint64_t bytes);       // the CDN answers 400 to a GET of more without Range
  void set_rate(std::uint64_t per_connection, std::uint64_t total);  // bodies, bytes per second; 0: unlimited
  // Requests left in the window of 300 s for anonymous use, as RateLimit headers tell; then 429.
  void set_quota(std::uint64_t api, std::uint64_t resolvers);

  // ModelScope's errors come with HTTP 200, told by the Code in their body alone.
  void set_modelscope_errors_in_body(bool in_body);

  // What was asked. A byte that a client has received is counted.
  std::vector<LoggedRequest> requests() const;
  HubCounters counters() const;
  void clear_log();
  bool wait_for(const std::function<bool(const HubCounters&)>& wanted,
                std::chrono::milliseconds limit = std::chrono::milliseconds{20'000}) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace decant::test
