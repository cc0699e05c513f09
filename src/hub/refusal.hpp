// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "address.hpp"
#include "decant/base/error.hpp"
#include "decant/hub/hub.hpp"
#include "decant/net/transport.hpp"

namespace decant::hub {

// What was asked of the hub.
struct Question {
  enum class About { revision, listing, file };
  About about = About::file;
  std::string what;  // revision, or path in the repo
  std::string revision;
};

// Who asked: for the words of a refusal.
struct Asker {
  const Address& address;
  const Token& token;
  std::string_view gated;  // as the hub told it, if it was asked
};

// Why an answer of the hub (or of the way to it) is no answer. Server text in it is escaped, cut, and never
// holds the token. `outcome` and `body` are of the last hop, at `url`.
Problem refusal(const Asker& asker, const Question& question, const net::Url& url,
                const net::Outcome& outcome, std::string_view body);

// Why bytes did not come from the storage behind the hub. Its own error page says nothing that helps and may
// repeat what was signed, so it is not shown.
Problem storage_refusal(const Question& question, const net::Url& url, const net::Outcome& outcome);

// A redirect that is not followed.
Problem redirect_refusal(const Question& question, const net::Url& url, std::string_view refusal);

}  // namespace decant::hub
