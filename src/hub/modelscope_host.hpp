// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "byte_host.hpp"
#include "modelscope_api.hpp"

namespace decant::hub {

// ModelScope as a host of bytes.
class ModelScopeHost final : public ByteHost {
 public:
  ModelScopeHost(ModelScopeAddress address, Token token)
      : address_{std::move(address)}, token_{std::move(token)} {}

  const ModelScopeAddress& address() const { return address_; }
  const Token& token() const { return token_; }

  std::string name() const override { return address_.name(); }
  std::string owner() const override { return address_.name(); }
  const net::Origin& origin() const override { return address_.endpoint().origin; }
  net::Url address_of(const source::Object& object) const override {
    return address_.file(object.path.str());
  }
  net::Request request(net::Url url) const override;
  std::optional<Problem> contradiction(const net::ResponseHead&, const source::Object&) const override {
    return std::nullopt;  // its headers say nothing of content
  }
  bool is_error_page(const net::ResponseHead& head, const source::Object& object) const override;
  void translate(net::Outcome& outcome, std::string_view body) const override;
  Problem refusal(const source::Object& object, const net::Url& url, const net::Outcome& outcome,
                  std::string_view body) const override;

 private:
  ModelScopeAddress address_;
  Token token_;
};

}  // namespace decant::hub
