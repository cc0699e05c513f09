// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "address.hpp"
#include "decant/hub/modelscope.hpp"
#include "decant/net/transport.hpp"
#include "refusal.hpp"

namespace decant::hub {

// The most entries that repo/files ever sends: an answer with as many is cut, and nothing else says so.
inline constexpr std::size_t k_modelscope_most_entries = 3000;
inline constexpr std::size_t k_modelscope_page = 200;

// The URLs of one repo at ModelScope.
class ModelScopeAddress {
 public:
  ModelScopeAddress(Endpoint endpoint, model::RepoType type, std::string repo, std::string revision)
      : endpoint_{std::move(endpoint)}, type_{type}, repo_{std::move(repo)}, revision_{std::move(revision)} {}

  const Endpoint& endpoint() const { return endpoint_; }
  model::RepoType type() const { return type_; }
  const std::string& revision() const { return revision_; }
  std::string name() const { return "modelscope:" + repo_; }
  std::string page() const;  // for people
  enum class Depth { all, one };
  net::Url files(std::string_view root, Depth depth) const;  // of a model
  net::Url tree(std::size_t page_number) const;              // of a dataset; pages count from 1
  net::Url file(std::string_view path) const;

 private:
  net::Url url(const std::string& rest) const;

  Endpoint endpoint_;
  model::RepoType type_;
  std::string repo_;
  std::string revision_;
};

// What each JSON answer is wrapped in. Its Code says more than the HTTP status, which may be 200 beside an
// error.
struct Envelope {
  std::int64_t code = 200;  // 200: all is well
  std::string message;
  // A status that the code stands for: itself where it is one, else 400.
  int status() const { return code >= 400 && code < 600 ? static_cast<int>(code) : 400; }
};
// nullopt: not an envelope.
std::optional<Envelope> parse_envelope(std::string_view json);

struct ModelScopeEntry {
  std::string path;
  bool is_directory = false;
  std::uint64_t size = 0;
  std::optional<hash::Digest> sha256;  // none: not stated, so nothing can be compared
};
// The entries of a listing. Throws Error{network} for an answer that makes no sense; `origin` names it.
std::vector<ModelScopeEntry> parse_modelscope_entries(std::string_view json, std::string_view origin);

// Why an answer of ModelScope (or of the way to it) is no answer.
Problem modelscope_refusal(const ModelScopeAddress& address, const Token& token, const Question& question,
                           const net::Url& url, const net::Outcome& outcome, std::string_view body);

}  // namespace decant::hub
