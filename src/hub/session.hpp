// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "address.hpp"
#include "decant/hub/hub.hpp"
#include "decant/net/retry.hpp"
#include "refusal.hpp"

namespace decant::hub {

// What both the metadata and the byte half of a hub need: who asks, of whom, with which token.
struct Identity {
  Address address;
  Token token;
  std::string commit;  // empty until resolved or pinned
  std::string gated;

  Asker asker() const { return {.address = address, .token = token, .gated = gated}; }
  // A request that carries the token, if its URL is of the endpoint's origin.
  net::Request request(net::Url url) const;
};

// The last hop of a small request.
struct Answer {
  net::FetchedBody fetched;
  net::Url url;
  bool ok() const { return net::judge(fetched.outcome) == net::Judgement::ok; }
  const net::ResponseHead& head() const { return fetched.outcome.head; }
};

// Small requests with retries and redirects.
class Session {
 public:
  // Shown each answer's head on the way, the last one's too; may throw.
  using OnHop = std::function<void(const net::ResponseHead&, const net::Url&)>;

  // `endpoint` is where the service is: redirects are judged by it.
  Session(net::Origin endpoint, net::RetryingFetcher fetcher, const Stop& stop)
      : endpoint_{std::move(endpoint)}, fetcher_{std::move(fetcher)}, stop_{stop} {}

  // Throws Error for redirects that are not followed; any other answer is returned.
  Answer ask(net::Request request, const Question& question, std::uint64_t limit, const OnHop& on_hop = {});

 private:
  net::Origin endpoint_;
  net::RetryingFetcher fetcher_;
  const Stop& stop_;
};

}  // namespace decant::hub
