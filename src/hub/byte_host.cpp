// SPDX-License-Identifier: Apache-2.0
#include "byte_host.hpp"

#include "checks.hpp"

namespace decant::hub {

net::Url HubHost::address_of(const source::Object& object) const {
  return identity_.address.file(identity_.commit, object.path.str());
}

std::optional<Problem> HubHost::contradiction(const net::ResponseHead& head,
                                              const source::Object& object) const {
  return hub::contradiction(head, identity_.commit, object.path.str(), &object);
}

Problem HubHost::refusal(const source::Object& object, const net::Url& url, const net::Outcome& outcome,
                         std::string_view body) const {
  const Question question{
      .about = Question::About::file, .what = object.path.str(), .revision = identity_.commit};
  return hub::refusal(identity_.asker(), question, url, outcome, body);
}

}  // namespace decant::hub
