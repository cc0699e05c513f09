// SPDX-License-Identifier: Apache-2.0
#include "modelscope_host.hpp"

#include "decant/base/bytes.hpp"
#include "decant/base/text.hpp"

namespace decant::hub {

net::Request ModelScopeHost::request(net::Url url) const {
  return {.url = std::move(url),
          .headers = {{"X-Request-ID", random_hex(16)}},
          .bearer = token_.value,
          .cookie = {.name = "m_session_id", .value = token_.value},
          .secret_origin = origin()};
}

// A JSON file comes with its own length, or as the range that was asked for.
bool ModelScopeHost::is_error_page(const net::ResponseHead& head, const source::Object& object) const {
  return head.status == 200 && starts_with_ci(trim(head.header("content-type")), "application/json") &&
         parse_u64(head.header("content-length")) != object.size;
}

void ModelScopeHost::translate(net::Outcome& outcome, std::string_view body) const {
  if (outcome.head.status != 200) return;
  outcome.head.status = parse_envelope(body).value_or(Envelope{.code = 400}).status();
}

Problem ModelScopeHost::refusal(const source::Object& object, const net::Url& url,
                                const net::Outcome& outcome, std::string_view body) const {
  const Question question{
      .about = Question::About::file, .what = object.path.str(), .revision = address_.revision()};
  return modelscope_refusal(address_, token_, question, url, outcome, body);
}

}  // namespace decant::hub
