// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/hub/content.hpp"

namespace decant::test {

enum class Where : std::uint8_t { any, hub, cdn };
enum class CutWith : std::uint8_t { fin, reset };

// One scripted misbehaviour. The first rule that matches a request, and is not used up, decides about it.
// Offsets count bytes of the answer's body, but flip_at and covers count bytes of the object.
struct Fault {
  // Which requests.
  Where where = Where::any;
  std::string method;  // empty: all
  // Glob (fnmatch, `*` spans '/') or, without `*?[`, a substring; of the decoded URL path or of the path of
  // the file in the repo that is asked for (known at the CDN, too). Empty: all.
  std::string path;
  std::optional<std::uint64_t> covers;  // only requests whose range holds this byte of the object
  std::uint64_t skip = 0;               // let this many matching requests pass first
  std::uint64_t times = 1;              // 0: for ever

  // What happens to them.
  std::optional<int> status;  // answer this instead, with `headers` and `body`
  std::vector<std::pair<std::string, std::string>>
      headers;  // set on the answer; an empty value takes one away
  std::string body;
  std::string redirect_to;                 // status 302 unless `status` says else; other headers stay
  std::optional<Content> content;          // serve this in place of the object: other size, digest, ETag
  std::optional<std::uint64_t> cut_after;  // end the connection after this many body bytes
  CutWith cut = CutWith::reset;
  std::optional<std::uint64_t> stall_after;  // stop sending there, connection open
  bool at_object = false;  // cut_after and stall_after count bytes of the object; implies covers
  std::chrono::milliseconds stall_for{0};  // 0: until the client leaves or the hub stops
  std::uint64_t rate = 0;                  // bytes per second of this body; 1 trickles
  std::optional<std::uint64_t> flip_at;    // invert one byte of the object; implies covers
  bool ignore_range = false;               // 200 and the whole object
  std::int64_t resize = 0;                 // body and Content-Length longer (zeros) or shorter by this
  bool no_length = false;                  // no Content-Length; the end of the connection ends the body
  bool chunked = false;                    // Transfer-Encoding: chunked
  std::string raw;                         // these bytes in place of any answer, then the end
  bool close_before_answer = false;        // as `cut` says
  std::chrono::milliseconds delay{0};      // before the answer
  std::chrono::milliseconds refuse_for{
      0};                      // drop all connections of this listener, refuse new ones that long
  std::function<void()> then;  // called before the answer, on a thread of the hub
};

// What a rule is matched against.
struct FaultSubject {
  Where where = Where::hub;
  std::string_view method;
  std::string_view path;
  std::string_view file;
  std::uint64_t first = 0;  // first and last byte asked for; the whole object without a range
  std::uint64_t last = 0;
};

class FaultRules {
 public:
  using Id = std::size_t;
  Id add(Fault fault);
  void clear();
  std::uint64_t hits(Id id) const;  // how often it was applied
  std::shared_ptr<const Fault> match(const FaultSubject& subject);

 private:
  struct Rule {
    std::shared_ptr<const Fault> fault;  // empty after clear()
    std::uint64_t seen = 0;
    std::uint64_t applied = 0;
  };
  mutable std::mutex mutex_;
  std::vector<Rule> rules_;
};

// "cdn path=*.tar skip=1 times=2 status=503 header=Retry-After:7": words apart by spaces, %HH inside a value.
// Words: hub cdn method path covers skip times status header body redirect cut_after cut=fin|reset
// stall_after stall_ms at_object rate flip_at ignore_range resize no_length chunked raw close delay_ms
// refuse_ms. Throws std::invalid_argument.
Fault parse_fault(std::string_view text);

}  // namespace decant::test
