// SPDX-License-Identifier: Apache-2.0
#include "modelscope_api.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "decant/base/error.hpp"
#include "decant/base/text.hpp"
#include "decant/model/manifest.hpp"
#include "server_text.hpp"

namespace decant::hub {
namespace {

using net::percent_encode;
using net::Slash;
using nlohmann::json;

std::string encoded(std::string_view text) {
  return percent_encode(text, Slash::encode);
}

// Empty when absent or no string.
std::string string_in(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string{};
}

[[noreturn]] void refuse(std::string_view origin, std::string_view why) {
  throw Error{
      Problem{.kind = ErrorKind::network,
              .thing = fmt::format("{} makes no sense", origin),
              .expected = "a list of files as ModelScope sends it",
              .found = std::string{why},
              .hint = "a proxy or a captive portal may have answered in its place; check MODELSCOPE_ENDPOINT "
                      "and the proxy settings"}};
}

ModelScopeEntry parse_entry(const json& value, std::string_view origin) {
  ModelScopeEntry entry{.path = string_in(value, "Path"), .is_directory = string_in(value, "Type") == "tree"};
  if (entry.path.empty()) refuse(origin, "a file without a path");
  const auto size = value.find("Size");
  if (size == value.end() || !size->is_number_unsigned()) return entry;
  entry.size = size->get<std::uint64_t>();
  if (entry.size <= model::k_max_size) {
    entry.sha256 =
        hash::Digest::parse(hash::Algorithm::sha256, to_lower_ascii(trim(string_in(value, "Sha256"))));
  }
  return entry;
}

class Words {
 public:
  Words(const ModelScopeAddress& address, const Token& token, const Question& question,
        const net::Outcome& outcome, std::string_view body)
      : address_{address}, token_{token}, question_{question}, head_{outcome.head}, name_{address.name()} {
    found_ = fmt::format("HTTP {}", head_.status);
    if (const auto envelope = parse_envelope(body)) {
      found_ += fmt::format(", code {}", envelope->code);
      if (!envelope->message.empty()) found_ += ": " + shown_text(envelope->message, token.value);
    }
    found_ += request_id(head_);
  }

  Problem problem() const {
    const int status = head_.status;
    if (status == 401 || status == 403) return no_access();
    if (status == 404) return not_there();
    const bool limited = status == 429;
    if (limited || status >= 500 || status == 408 || status == 425) {
      return make(ErrorKind::network,
                  limited ? fmt::format("{} limits requests, also after waiting", name_)
                          : fmt::format("{} has a problem of its own", name_),
                  "run the same command again later, or leave this place out");
    }
    return make(ErrorKind::access, fmt::format("{} refuses to send {}", name_, asked()),
                fmt::format("see {}, or leave this place out", address_.page()));
  }

 private:
  std::string asked() const {
    return question_.about == Question::About::listing ? "the list of its files"
                                                       : escape_for_display(question_.what);
  }
  Problem make(ErrorKind kind, std::string thing, std::string hint) const {
    return {.kind = kind, .thing = std::move(thing), .found = found_, .hint = std::move(hint)};
  }
  Problem no_access() const {
    if (token_.value.empty()) {
      return make(
          ErrorKind::access, fmt::format("{} is not open to everybody, and no token is set", name_),
          "set MODELSCOPE_API_TOKEN to a token that may read it (the login that ModelScope's own tools "
          "store is not read), or leave this place out");
    }
    return make(ErrorKind::access, fmt::format("{} may not read {}", token_words(token_), name_),
                fmt::format("check the token, and access at {}, or leave this place out", address_.page()));
  }
  Problem not_there() const {
    if (question_.about == Question::About::file) {
      return make(ErrorKind::access, fmt::format("{} is not in {} any more", asked(), name_),
                  "run the same command again: it is listed anew");
    }
    const std::string_view kind = address_.type() == model::RepoType::dataset ? "dataset" : "model";
    return make(ErrorKind::access,
                fmt::format("{} does not exist as a {} with revision {}, or {} may not see it", name_, kind,
                            escape_for_display(address_.revision()), token_words(token_)),
                fmt::format("see {}; its branch is mostly master, not main", address_.page()));
  }

  const ModelScopeAddress& address_;
  const Token& token_;
  const Question& question_;
  const net::ResponseHead& head_;
  std::string name_;
  std::string found_;
};

}  // namespace

net::Url ModelScopeAddress::url(const std::string& rest) const {
  return {
      .origin = endpoint_.origin,
      .path_and_query = fmt::format("{}/api/v1/{}/{}/{}", endpoint_.prefix,
                                    type_ == model::RepoType::dataset ? "datasets" : "models", repo_, rest)};
}

std::string ModelScopeAddress::page() const {
  return fmt::format("{}/{}/{}", endpoint_.str(), type_ == model::RepoType::dataset ? "datasets" : "models",
                     repo_);
}

net::Url ModelScopeAddress::files(std::string_view root, Depth depth) const {
  return url(fmt::format("repo/files?Revision={}&Recursive={}{}", encoded(revision_),
                         depth == Depth::all ? "True" : "False",
                         root.empty() ? "" : "&Root=" + encoded(root)));
}

net::Url ModelScopeAddress::tree(std::size_t page_number) const {
  return url(fmt::format("repo/tree?Revision={}&Recursive=True&PageNumber={}&PageSize={}", encoded(revision_),
                         page_number, k_modelscope_page));
}

net::Url ModelScopeAddress::file(std::string_view path) const {
  return url(fmt::format("repo?Revision={}&FilePath={}", encoded(revision_), encoded(path)));
}

std::optional<Envelope> parse_envelope(std::string_view text) {
  const json value = json::parse(text, nullptr, false);
  if (!value.is_object()) return std::nullopt;
  const auto code = value.find("Code");
  Envelope envelope{.message = string_in(value, "Message")};
  if (code == value.end()) return std::nullopt;
  if (code->is_number_integer()) {
    envelope.code = code->get<std::int64_t>();
  } else if (const auto number = parse_u64(string_in(value, "Code"));
             number && *number <= INT64_MAX) {  // some answers spell it as text
    envelope.code = static_cast<std::int64_t>(*number);
  } else {
    return std::nullopt;
  }
  return envelope;
}

std::vector<ModelScopeEntry> parse_modelscope_entries(std::string_view text, std::string_view origin) {
  const json value = json::parse(text, nullptr, false);
  if (!value.is_object()) refuse(origin, "something that is no JSON object");
  const auto data = value.find("Data");
  if (data == value.end()) refuse(origin, "no \"Data\"");
  const json* files = &*data;
  if (data->is_object() && data->contains("Files")) files = &data->at("Files");
  std::vector<ModelScopeEntry> entries;
  if (files->is_null()) return entries;  // an empty page
  if (!files->is_array()) refuse(origin, "no list of files");
  entries.reserve(files->size());
  for (const auto& entry : *files) {
    if (!entry.is_object()) refuse(origin, "a list with something else than objects");
    entries.push_back(parse_entry(entry, origin));
  }
  return entries;
}

Problem modelscope_refusal(const ModelScopeAddress& address, const Token& token, const Question& question,
                           const net::Url& url, const net::Outcome& outcome, std::string_view body) {
  const bool answered =
      outcome.end == net::TransferEnd::complete || outcome.end == net::TransferEnd::sink_stopped;
  if (!answered) return storage_refusal(question, url, outcome);
  return Words{address, token, question, outcome, body}.problem();
}

}  // namespace decant::hub
