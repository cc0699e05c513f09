// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "decant/net/retry.hpp"
#include "modelscope_host.hpp"
#include "session.hpp"

namespace decant::hub {

// Lists a whole ModelScope repo. Not thread-safe.
class ModelScopeLister {
 public:
  ModelScopeLister(const ModelScopeHost& host, const ModelScopeOptions& options, net::Transport& transport,
                   Clock& clock, const Stop& stop);
  ModelScopeLister(const ModelScopeLister&) = delete;
  ModelScopeLister& operator=(const ModelScopeLister&) = delete;

  // All files. Throws Error with kind access or network.
  std::vector<ModelScopeEntry> list();

 private:
  std::vector<ModelScopeEntry> ask(const net::Url& url);
  void translate(net::FetchedBody& fetched);
  void walk(const std::string& root);
  void turn_pages();
  void take(std::vector<ModelScopeEntry> entries);

  const ModelScopeHost& host_;
  std::function<void(std::string_view)> on_note_;
  Session session_;
  bool was_answered_ = false;
  std::size_t requests_ = 0;
  std::vector<ModelScopeEntry> files_;
};

}  // namespace decant::hub
