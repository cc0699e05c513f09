// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "address.hpp"
#include "decant/hub/hub.hpp"

namespace decant::hub {

// Throws Error{usage} for a token that cannot be sent: with bytes that no token has, or over http to anything
// but loopback. No token is fine. The texts say where it came from; `hint` is about wrong bytes.
void check_token(const Token& token, const Endpoint& endpoint, std::string_view hint);

}  // namespace decant::hub
