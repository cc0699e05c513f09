// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "decant/net/transport.hpp"
#include "decant/source/source.hpp"
#include "session.hpp"

namespace decant::hub {

// The service whose files an ObjectSource reads: where it is asked, and what its own answers mean. What the
// storage behind it answers means the same everywhere. Thread-safe; outlives the source.
class ByteHost {
 public:
  virtual ~ByteHost() = default;
  virtual std::string name() const = 0;           // in messages of progress and in the summary
  virtual std::string owner() const = 0;          // "OWNER has another size": "the hub"
  virtual const net::Origin& origin() const = 0;  // of the service; its storage has others
  // Where the service is asked for a file.
  virtual net::Url address_of(const source::Object& object) const = 0;
  // A request that carries the service's secrets, if its URL is of the service's origin.
  virtual net::Request request(net::Url url) const = 0;
  // What an answer of the service says about the object that is not so.
  virtual std::optional<Problem> contradiction(const net::ResponseHead& head,
                                               const source::Object& object) const = 0;
  // Whether a 200 or 206 of the service brings words in place of the file.
  virtual bool is_error_page(const net::ResponseHead&, const source::Object&) const { return false; }
  // The status that such words stand for, put in place of the 200.
  virtual void translate(net::Outcome&, std::string_view /*body*/) const {}
  // Why an answer of the service brings no bytes.
  virtual Problem refusal(const source::Object& object, const net::Url& url, const net::Outcome& outcome,
                          std::string_view body) const = 0;
};

// The hub as a host of bytes.
class HubHost final : public ByteHost {
 public:
  explicit HubHost(const Identity& identity) : identity_{identity} {}
  std::string name() const override { return "hub"; }
  std::string owner() const override { return "the hub"; }
  const net::Origin& origin() const override { return identity_.address.endpoint().origin; }
  net::Url address_of(const source::Object& object) const override;
  net::Request request(net::Url url) const override { return identity_.request(std::move(url)); }
  std::optional<Problem> contradiction(const net::ResponseHead& head,
                                       const source::Object& object) const override;
  Problem refusal(const source::Object& object, const net::Url& url, const net::Outcome& outcome,
                  std::string_view body) const override;

 private:
  const Identity& identity_;
};

}  // namespace decant::hub
