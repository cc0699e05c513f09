// SPDX-License-Identifier: Apache-2.0
#include "refusal.hpp"

#include <fmt/format.h>

#include "answers.hpp"
#include "decant/base/text.hpp"
#include "redirect.hpp"
#include "server_text.hpp"

namespace decant::hub {
namespace {

constexpr std::string_view k_again = "run the same command again later; what was fetched so far is kept";

std::string question_words(const Question& question, const Address* address) {
  const std::string in = address == nullptr ? "" : " of " + address->name();
  switch (question.about) {
    case Question::About::revision:
      return fmt::format("revision {}{}", escape_for_display(question.what), in);
    case Question::About::listing:
      return "the list of files" + in;
    case Question::About::file:
      break;
  }
  return fmt::format("{}{}", escape_for_display(question.what), in);
}

// The connection's failures; none of them is an HTTP answer.
std::optional<Problem> transport_problem(std::string_view asked, const net::Url& url,
                                         const net::Outcome& outcome) {
  const std::string where = url.origin.str();
  const auto make = [&](ErrorKind kind, std::string thing, std::string_view hint) {
    return Problem{.kind = kind,
                   .thing = fmt::format("{}: {}", asked, thing),
                   .found = outcome.detail,
                   .hint = std::string{hint}};
  };
  switch (outcome.end) {
    case net::TransferEnd::no_connect:
      return make(ErrorKind::network, "cannot reach " + where,
                  "check the network, DNS, HTTPS_PROXY and NO_PROXY, then run the same command again; what "
                  "was fetched "
                  "so far is kept");
    case net::TransferEnd::cut:
      return make(ErrorKind::network, fmt::format("the connection to {} was cut", where), k_again);
    case net::TransferEnd::stalled:
      return make(ErrorKind::network, fmt::format("{} stopped sending", where),
                  "run the same command again, or allow longer pauses with --stall-timeout; what was fetched "
                  "so far is "
                  "kept");
    case net::TransferEnd::tls:
      return make(ErrorKind::network, "no secure connection to " + where,
                  "check this machine's clock; behind a proxy that opens encrypted connections, set "
                  "SSL_CERT_FILE to a "
                  "file with its certificate");
    case net::TransferEnd::proxy:
      return make(ErrorKind::access, "the proxy refused to connect to " + where,
                  "check HTTPS_PROXY with its user and password, and NO_PROXY");
    case net::TransferEnd::protocol:
      return make(ErrorKind::network, fmt::format("the answer of {} cannot be used", where),
                  "a proxy or a captive portal may have answered in its place; check the endpoint and the "
                  "proxy settings");
    case net::TransferEnd::complete:
    case net::TransferEnd::sink_stopped:
      break;
  }
  return std::nullopt;
}

class HubWords {
 public:
  HubWords(const Asker& asker, const Question& question, const net::Outcome& outcome, std::string_view body)
      : asker_{asker},
        question_{question},
        head_{outcome.head},
        code_{outcome.head.header("x-error-code")},
        raw_{error_words(outcome.head, body)},
        name_{asker.address.name()} {}

  // In the order in which the hub's own clients decide.
  Problem problem() const {
    const int status = head_.status;
    if (code_ == "RevisionNotFound") return no_revision();
    if (code_ == "EntryNotFound") return no_file();
    if (code_ == "GatedRepo") return gated();
    if (raw_.find("Access to this resource is disabled") != std::string::npos) return disabled();
    if (status == 401 && raw_.find("Invalid credentials") != std::string::npos) return bad_token();
    if (code_ == "RepoNotFound" || status == 401) return no_repo();
    if (status == 403) return forbidden();
    if (status == 404) return nothing_there();
    if (status == 429) return limited();
    if (status >= 500 || status == 408 || status == 425) return broken();
    return unknown();
  }

 private:
  bool has_token() const { return !asker_.token.value.empty(); }

  std::string answer(bool with_id = false) const {
    std::string text = fmt::format("HTTP {}", head_.status);
    if (!code_.empty()) text += " " + shown_text(code_, asker_.token.value);
    if (!raw_.empty()) text += ": " + shown_text(raw_, asker_.token.value);
    if (with_id) text += request_id(head_);
    return text;
  }

  Problem make(ErrorKind kind, std::string thing, std::string hint, std::string expected = {}) const {
    return {.kind = kind,
            .thing = std::move(thing),
            .expected = std::move(expected),
            .found = answer(kind == ErrorKind::network),
            .hint = std::move(hint)};
  }
  Problem no_access(std::string thing, std::string hint, std::string expected = {}) const {
    return make(ErrorKind::access, std::move(thing), std::move(hint), std::move(expected));
  }

  Problem no_revision() const {
    const std::string revision = question_.revision.empty() ? question_.what : question_.revision;
    return no_access(
        fmt::format("{} has no revision {}", name_, escape_for_display(revision)),
        "check --revision; a commit that was there before is gone when the repo's history was rewritten, "
        "and only its owner can tell which one replaces it");
  }
  Problem no_file() const {
    return no_access(fmt::format("{} is not in {} at revision {}", escape_for_display(question_.what), name_,
                                 escape_for_display(question_.revision)),
                     "check the path, --release and --revision");
  }
  Problem gated() const {
    const std::string page = asker_.address.page();
    if (!has_token()) {
      return no_access(
          fmt::format("{} is gated, and no token is set", name_),
          fmt::format("ask for access at {}, then set HF_TOKEN to a token of that account", page),
          "a token of an account that was granted access");
    }
    if (head_.status == 401) {
      return no_access(
          fmt::format("{} is gated, and {} was not accepted as a login", name_, token_words(asker_.token)),
          fmt::format("put a valid token there; access is asked for at {}", page),
          "a valid token of an account that was granted access");
    }
    std::string how = "ask for it there";
    if (asker_.gated == "auto") how = "one click there grants it at once";
    if (asker_.gated == "manual") how = "ask for it there; the owner decides";
    return no_access(
        fmt::format("{} is gated, and the account of {} has no access yet", name_, token_words(asker_.token)),
        fmt::format("open {} with that account: {}; then run the same command again", page, how),
        "an account that was granted access");
  }
  Problem disabled() const {
    return no_access(fmt::format("{} was disabled by the hub", name_),
                     fmt::format("see {}; a copy of the repo on disk can be restored with dir:PATH",
                                 asker_.address.page()));
  }
  Problem bad_token() const {
    return no_access(fmt::format("{} is not valid (revoked, expired or mistyped)", token_words(asker_.token)),
                     "put a valid token there, or remove it: public repos need none, and refuse a bad one",
                     "a valid token, or none");
  }
  Problem no_repo() const {
    if (!has_token()) {
      return no_access(
          fmt::format("{} does not exist, or it is private and no token is set", name_),
          "check the name and --repo-type; for a private repo set HF_TOKEN to a token that may read it");
    }
    if (head_.status == 401) {
      return no_access(fmt::format("{} was not accepted for {}", token_words(asker_.token), name_),
                       "check that the token is valid, the name, and --repo-type");
    }
    return no_access(
        fmt::format("{} does not exist, or {} may not read it", name_, token_words(asker_.token)),
        "check the name and --repo-type, and that the token's account belongs to the repo's organisation");
  }
  Problem forbidden() const {
    if (!has_token()) {
      return no_access(fmt::format("access to {} is refused without a token", name_),
                       "set HF_TOKEN to a token that may read it");
    }
    return no_access(
        fmt::format("{} may not read {}", token_words(asker_.token), name_),
        "a fine-grained token needs \"Read access to contents of all public gated repos you can access\"; "
        "an organisation may also require single sign-on or certain networks");
  }
  Problem nothing_there() const {
    return no_access(fmt::format("{} was not found", question_words(question_, &asker_.address)),
                     "check the name, --repo-type, --revision and the endpoint");
  }
  Problem limited() const {
    return make(ErrorKind::network, fmt::format("the hub limits requests, also after waiting ({})", name_),
                has_token()
                    ? std::string{k_again}
                    : "run the same command again later, or set HF_TOKEN: accounts have higher limits");
  }
  Problem broken() const {
    return make(
        ErrorKind::network,
        fmt::format("{}: the hub has a problem of its own", question_words(question_, &asker_.address)),
        std::string{k_again});
  }
  Problem unknown() const {
    Problem problem =
        no_access(fmt::format("{}: the hub refused the request", question_words(question_, &asker_.address)),
                  "check the endpoint; the request id helps the hub's support");
    problem.found = answer(true);
    return problem;
  }

  const Asker& asker_;
  const Question& question_;
  const net::ResponseHead& head_;
  std::string_view code_;
  std::string raw_;
  std::string name_;
};

}  // namespace

Problem refusal(const Asker& asker, const Question& question, const net::Url& url,
                const net::Outcome& outcome, std::string_view body) {
  const std::string asked = question_words(question, &asker.address);
  if (auto problem = transport_problem(asked, url, outcome)) return std::move(*problem);
  return HubWords{asker, question, outcome, body}.problem();
}

Problem storage_refusal(const Question& question, const net::Url& url, const net::Outcome& outcome) {
  const std::string asked = question_words(question, nullptr);
  if (auto problem = transport_problem(asked, url, outcome)) return std::move(*problem);
  const bool passing = outcome.head.status >= 500 || outcome.head.status == 429 || outcome.head.status == 408;
  return {
      .kind = passing ? ErrorKind::network : ErrorKind::access,
      .thing = fmt::format("{}: {} refuses to send it", asked, url.origin.str()),
      .found = fmt::format("HTTP {}{}", outcome.head.status, request_id(outcome.head)),
      .hint =
          passing
              ? std::string{k_again}
              : "check that a proxy or firewall lets this host through unchanged, then run the same command "
                "again"};
}

Problem redirect_refusal(const Question& question, const net::Url& url, std::string_view refusal) {
  return {
      .kind = ErrorKind::access,
      .thing = fmt::format("{}: {} answers with a redirect that is not followed",
                           question_words(question, nullptr), url.origin.str()),
      .expected = fmt::format("at most {} redirects, none of them to an unencrypted address", k_most_hops),
      .found = std::string{refusal},
      .hint = "check the endpoint and the proxy settings: this is not how the hub answers"};
}

}  // namespace decant::hub
