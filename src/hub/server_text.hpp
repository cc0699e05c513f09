// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "decant/hub/hub.hpp"
#include "decant/net/transport.hpp"

namespace decant::hub {

// Server text for people: on one line, printable, short, without our token.
std::string shown_text(std::string_view text, const net::Secret& token);

// ", request id …" as the answer tells it; empty when it does not.
std::string request_id(const net::ResponseHead& head);

// "no token", or where the token came from.
std::string token_words(const Token& token);

}  // namespace decant::hub
