// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include "redirect.hpp"

namespace decant::hub {

net::Request Identity::request(net::Url url) const {
  return {.url = std::move(url), .bearer = token.value, .secret_origin = address.endpoint().origin};
}

Answer Session::ask(net::Request request, const Question& question, std::uint64_t limit,
                    const OnHop& on_hop) {
  for (int hops = 0;; ++hops) {
    Answer answer{.fetched = fetcher_.fetch(request, limit, stop_), .url = request.url};
    if (on_hop) on_hop(answer.head(), answer.url);
    const int status = answer.head().status;
    if (!answer.ok() || !is_redirect(status)) return answer;
    // 301 to 303 turn a POST into a GET, which would be another question.
    const bool keeps_method = status == 307 || status == 308 || request.method == net::Method::get;
    NextHop next = next_hop(request.url, answer.head().header("location"), endpoint_, hops);
    if (!keeps_method) next = {.refusal = "a redirect that changes the request"};
    if (!next.url) throw Error{redirect_refusal(question, request.url, next.refusal)};
    request.url = std::move(*next.url);
  }
}

}  // namespace decant::hub
