// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "decant/model/lock.hpp"
#include "decant/net/transport.hpp"

namespace decant::hub {

// Where a hub answers. Mirrors such as artifact stores put it below a path.
struct Endpoint {
  net::Origin origin;
  std::string prefix;  // empty, or begins with '/' and does not end with one
  std::string str() const { return origin.str() + prefix; }
};

// Throws Error{usage} when `text` is no http(s) URL, or has a user, a query or a fragment. `where` says in
// the hint what to correct, `example` how.
Endpoint parse_endpoint(std::string_view text, std::string_view where = "--endpoint or HF_ENDPOINT",
                        std::string_view example = "https://huggingface.co");

// Whether `name` can be ORG/NAME, or NAME alone as for some old models.
bool is_repo_name(std::string_view name);

// The URLs of one repo.
class Address {
 public:
  Address(Endpoint endpoint, model::RepoType type, std::string repo)
      : endpoint_{std::move(endpoint)}, type_{type}, repo_{std::move(repo)} {}

  const Endpoint& endpoint() const { return endpoint_; }
  model::RepoType type() const { return type_; }
  const std::string& repo() const { return repo_; }
  void rename(std::string repo) { repo_ = std::move(repo); }

  std::string name() const;  // "datasets/ORG/NAME", "models/ORG/NAME": for messages
  std::string page() const;  // the repo's page for people
  net::Url revision(std::string_view revision) const;
  net::Url tree(std::string_view commit, std::string_view prefix) const;
  net::Url paths_info(std::string_view commit) const;
  net::Url file(std::string_view commit, std::string_view path) const;
  // A page's URL as the hub names it, asked of our endpoint: a mirror hands on the hub's own.
  net::Url at_endpoint(const net::Url& url) const;

 private:
  net::Url url(std::string path_and_query) const;
  std::string api() const;

  Endpoint endpoint_;
  model::RepoType type_;
  std::string repo_;
};

}  // namespace decant::hub
