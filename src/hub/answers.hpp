// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "decant/model/listing.hpp"
#include "decant/net/transport.hpp"

namespace decant::hub {

// What the hub's JSON and headers say. Everything here throws Error{network} for an answer that is not what a
// hub sends; `origin` names it in messages ("the answer of https://…/api/…").

struct RevisionInfo {
  std::string commit;  // 40 hex
  std::string repo;    // canonical name; empty when not told
  std::string gated;   // empty, "auto", "manual"
  bool disabled = false;
};
RevisionInfo parse_revision(std::string_view json, std::string_view origin);

// Files of a tree page or a paths-info answer; directories are left out.
model::Listing parse_entries(std::string_view json, std::string_view origin);

// {"paths": [...], "expand": false}
std::string paths_info_body(const std::vector<std::string>& paths, std::size_t first, std::size_t count);

// The target of rel="next" in Link headers (RFC 8288); empty when there is none.
std::string next_link(const net::ResponseHead& head);

// The words of an error answer: X-Error-Message, else the "error" of a JSON body, else a short plain body.
// Raw text of the server's.
std::string error_words(const net::ResponseHead& head, std::string_view body);

// An entity tag without W/ and quotes.
std::string_view bare_etag(std::string_view value);

}  // namespace decant::hub
